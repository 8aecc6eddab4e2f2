// SPDX-License-Identifier: Apache-2.0
// The lab from outside: checks what the machine has, fetches and builds what needs a network, then runs inside.ts in
// namespaces of its own. Whatever happens there, the kernel ends its processes and its links with it.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { chooseAdmissionCells } from './admission/cells.js'
import { tallyText } from './audit.js'
import { CELLS } from './cells/all.js'
import { findBinaries } from '../../testkit/control-plane/binaries.js'
import { servingPair } from '../../testkit/control-plane/certificates.js'
import { MissingError } from '../../testkit/control-plane/go-build.js'
import { API, CONTROL_PLANE, type Program } from '../../testkit/control-plane/programs.js'
import { buildGoProgram } from '../../testkit/go-program.js'
import { buildMeter } from '../../testkit/meter/meter.js'
import { type LabOptions, parseLabOptions, USAGE, UsageError } from './options.js'
import { CLOUD_HUB, KUBELETS_HUB } from './places.js'
import { findOther } from './other-version.js'
import { mergeReports } from './report.js'
import { chooseCells } from './run-cells.js'

const TOOLS: Readonly<Record<string, string>> = {
  unshare: 'util-linux',
  nsenter: 'util-linux',
  mount: 'mount',
  ip: 'iproute2',
  bridge: 'iproute2',
  iptables: 'iptables',
}

/** What kube-proxy and its judge need, too. */
const PROXY_TOOLS: Readonly<Record<string, string>> = {
  'iptables-save': 'iptables',
  nft: 'nftables',
}

const PATH = [process.env['PATH'] ?? '', '/usr/sbin', '/sbin'].join(delimiter)

const isThere = (program: string): boolean =>
  PATH.split(delimiter).some(folder => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const NAMESPACES = ['--mount', '--net', '--pid', '--fork', '--mount-proc', '--kill-child']

/** What `unshare` needs to be told here. @throws MissingError when it cannot make namespaces at all. */
const unshareFlags = (): readonly string[] => {
  const asUser = ['--user', '--map-root-user']
  const wanted = process.getuid?.() === 0 ? [[], asUser] : [asUser]
  for (const more of wanted) {
    const probe = spawnSync('unshare', [...more, ...NAMESPACES, 'true'], { env: { PATH } })
    if (probe.status === 0) return [...more, ...NAMESPACES]
  }
  throw new MissingError(
    'the lab makes network namespaces: run it as root (sudo npm run lab), or allow user namespaces ' +
      '(sysctl user.max_user_namespaces=10000, kernel.apparmor_restrict_unprivileged_userns=0); ' +
      'a container needs --privileged',
  )
}

const checkMachine = (tools: Readonly<Record<string, string>>): readonly string[] => {
  if (process.platform !== 'linux')
    throw new MissingError(
      `the lab needs Linux, and this is ${process.platform}: use a virtual machine, or "npm run demo"`,
    )
  const missing = Object.entries(tools).filter(([program]) => !isThere(program))
  if (missing.length > 0) {
    const packages = [...new Set(missing.map(([, name]) => name))].join(' ')
    const programs = missing.map(([program]) => program).join(', ')
    throw new MissingError(`${programs} not found: apt-get install ${packages}`)
  }
  return unshareFlags()
}

/** `unshare` itself hears no signal while its child runs: the child is told. */
const tell = (child: ChildProcess, signal: NodeJS.Signals): void => {
  try {
    const path = `/proc/${child.pid}/task/${child.pid}/children`
    for (const pid of readFileSync(path, 'utf8').split(' ').filter(Boolean))
      process.kill(Number(pid), signal)
  } catch {
    // It has just ended.
  }
}

interface Inside {
  readonly flags: readonly string[]
  readonly dir: string
  readonly binaries: string
  /** The client-go program, if this run needs it. */
  readonly informer: string
  /** The program that counts packets; undefined where it cannot be built. */
  readonly meter: string | undefined
  /** The other version of the agent, built. */
  readonly other: string | undefined
  /** What this version changes of our own arguments. */
  readonly more: readonly string[]
}

const runInside = ({
  flags,
  dir,
  binaries,
  informer,
  meter,
  other,
  more,
}: Inside): Promise<number> =>
  new Promise(resolve => {
    const inside = [process.execPath, '--enable-source-maps', '.cache/lab/inside.mjs']
    const child = spawn('unshare', [...flags, ...inside, ...process.argv.slice(2), ...more], {
      // Its input ends with us, and it ends with its input.
      stdio: ['pipe', 'inherit', 'inherit'],
      env: {
        ...process.env,
        PATH,
        LAB_DIR: dir,
        LAB_BINARIES: binaries,
        LAB_INFORMER: informer,
        ...(meter === undefined ? {} : { LAB_METER: meter }),
        ...(other === undefined ? {} : { LAB_OTHER: other }),
        NODE_EXTRA_CA_CERTS: join(dir, 'serving.pem'),
      },
    })
    // A terminal sends Ctrl-C to all of us, anybody else to this process alone; either way it cleans up last.
    for (const signal of SIGNALS) process.on(signal, () => tell(child, signal))
    child.on('error', () => resolve(1))
    child.on('close', code => resolve(code ?? 1))
  })

const say = (text: string): void => void process.stderr.write(`${text}\n`)

const isOfCells = ({ command }: LabOptions): boolean =>
  ['cells', 'wrapper', 'grids'].includes(command)
const needsApiAlone = ({ command }: LabOptions): boolean =>
  ['chart', 'confine', 'informers', 'kubectl', 'fuzz'].includes(command)

/** What the chosen cells need beyond a control plane. */
const programsOf = (options: LabOptions): readonly Program[] =>
  isOfCells(options) ? [...new Set(chooseCells(options).flatMap(cell => cell.programs ?? []))] : []

const binariesFor = (options: LabOptions, kubernetes: string | undefined): Promise<string> => {
  const needed = needsApiAlone(options) ? API : [...CONTROL_PLANE, ...programsOf(options)]
  const programs = options.programs.length > 0 ? options.programs : needed
  return findBinaries({ folder: 'testkit/control-plane', kubernetes, programs }, process.env, say)
}

/** A machine with a control plane may be without Go. */
const meterFor = (options: LabOptions): string | undefined => {
  if (!isOfCells(options)) return undefined
  try {
    return buildMeter(process.env)
  } catch (error) {
    if (!(error instanceof MissingError)) throw error
    say(`bytes are not counted: ${error.message}`)
    return undefined
  }
}

const runVersion = async (
  options: LabOptions,
  flags: readonly string[],
  kubernetes: string | undefined,
): Promise<number> => {
  const binaries = await binariesFor(options, kubernetes)
  const informer =
    options.command === 'informers' ? buildGoProgram('testkit/informer', process.env) : ''
  const { report } = options
  const other = options.other === undefined ? undefined : findOther(options.other)
  const isOneOfMany = options.kubernetes.length > 1 && kubernetes !== undefined
  const more = isOneOfMany && report !== undefined ? ['--report', join(report, kubernetes)] : []
  const dir = mkdtempSync(join(tmpdir(), 'edge-health-lab-'))
  try {
    const { key, cert } = await servingPair(['127.0.0.1', CLOUD_HUB, KUBELETS_HUB])
    writeFileSync(join(dir, 'serving.pem'), cert)
    writeFileSync(join(dir, 'serving.key'), key, { mode: 0o600 })
    const meter = meterFor(options)
    return await runInside({ flags, dir, binaries, informer, meter, other, more })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const main = async (): Promise<number> => {
  const options = parseLabOptions(process.argv.slice(2))
  const versions = options.kubernetes.length > 0 ? options.kubernetes : [undefined]
  if (options.command === 'help') {
    process.stdout.write(USAGE)
    return 0
  }
  if (options.command === 'list') {
    for (const { name, shows } of CELLS) process.stdout.write(`${name.padEnd(19)} ${shows}\n`)
    return 0
  }
  if (options.command === 'merge') {
    for (const tally of mergeReports(options.merge, options.report!))
      process.stdout.write(`audit log: ${tallyText(tally)}\n`)
    return 0
  }
  if (options.command === 'build') {
    for (const each of versions) process.stdout.write(`${await binariesFor(options, each)}\n`)
    return 0
  }
  if (options.command === 'admission') chooseAdmissionCells(options.cells)
  const flags = checkMachine(programsOf(options).length > 0 ? { ...TOOLS, ...PROXY_TOOLS } : TOOLS)
  let worst = 0
  for (const each of versions) {
    worst = Math.max(worst, await runVersion(options, flags, each))
    if (worst > 1) break
  }
  return worst
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof MissingError || error instanceof UsageError)) throw error
  process.stderr.write(`lab: ${error.message}\n`)
  process.exitCode = 2
}

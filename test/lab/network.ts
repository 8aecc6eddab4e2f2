// SPDX-License-Identifier: Apache-2.0
// A zone's network: per node a namespace with three links. `peer0` leads to the other nodes, `cloud0` to the control
// plane, `watch0` to the observer. The far ends hang on three bridges in the lab's own namespace.
import { type ChildProcess, spawn } from 'node:child_process'
import { AS_A_CARD } from '../../testkit/meter/meter.js'
import {
  CLOUD_HUB,
  cloudAddress,
  KUBELETS_HUB,
  MANY_NODES,
  peerAddress,
  STRANGER,
  WATCH_HUB,
  watchAddress,
} from './places.js'
import { command } from './shell.js'

/** A network and a mount namespace that live as long as one small process. */
export class Namespace {
  readonly #holder: ChildProcess

  private constructor(holder: ChildProcess) {
    this.#holder = holder
  }

  static open(): Promise<Namespace> {
    // What the node keeps (credentials, the agent's state) is memory of its own, at the places where a Pod has it; /sys shows this network.
    const script =
      'mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib && mount -t sysfs sysfs /sys && ip link set lo up && echo ready && exec cat'
    const args = ['--net', '--mount', 'sh', '-c', script]
    const holder = spawn('unshare', args, { stdio: ['pipe', 'pipe', 'pipe'] })
    let complaint = ''
    holder.stderr.on('data', part => (complaint += String(part)))
    return new Promise((resolve, reject) => {
      holder.stdout.once('data', () => resolve(new Namespace(holder)))
      holder.once('error', reject)
      holder.once('close', () => reject(new Error(`cannot make a namespace: ${complaint}`)))
    })
  }

  get pid(): number {
    return this.#holder.pid!
  }

  /** The command line that runs a program in here. */
  inside(program: string, args: readonly string[]): readonly string[] {
    const at = `/proc/${this.pid}/ns`
    return ['nsenter', `--net=${at}/net`, `--mount=${at}/mnt`, program, ...args]
  }

  /** Run a program in here to its end. */
  run(program: string, args: readonly string[], input?: string): Promise<string> {
    const [first = '', ...rest] = this.inside(program, args)
    return command(first, rest, input)
  }

  close(): void {
    this.#holder.kill('SIGKILL')
  }
}

export type Link = 'peer' | 'cloud'

/** The far ends of the links, one hub per kind. */
const HUBS = [
  { hub: 'peers', near: 'peer0', far: 'p', addresses: [] },
  { hub: 'cloud', near: 'cloud0', far: 'c', addresses: [CLOUD_HUB, KUBELETS_HUB] },
  { hub: 'watch', near: 'watch0', far: 'w', addresses: [WATCH_HUB] },
] as const

const hubLines = HUBS.flatMap(({ hub, addresses }) => [
  `link add ${hub} type bridge`,
  ...addresses.map(address => `address add ${address}/24 dev ${hub}`),
  `link set ${hub} ${AS_A_CARD.join(' ')} up`,
])

/** One per link and node, so that neighbours can be written down. */
const macOf = (hub: number, index: number): string =>
  `02:ed:9e:00:0${hub}:${(index + 1).toString(16).padStart(2, '0')}`

const linkLines = (index: number, pid: number): readonly string[] =>
  HUBS.flatMap(({ hub, near, far }, nth) => [
    `link add ${far}${index} type veth peer name ${near} address ${macOf(nth, index)} netns ${pid}`,
    `link set ${far}${index} master ${hub} up`,
  ])

const nodeLines = (index: number): readonly string[] => [
  `address add ${peerAddress(index)}/24 dev peer0`,
  `address add ${cloudAddress(index)}/24 dev cloud0`,
  `address add ${watchAddress(index)}/24 dev watch0`,
  `link set peer0 ${AS_A_CARD.join(' ')} up`,
  `link set cloud0 ${AS_A_CARD.join(' ')} up`,
  'link set watch0 up',
]

/** Permanent entries do not count towards the kernel's limit of neighbours. */
const neighbourLines = (index: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, other) => other)
    .filter(other => other !== index)
    .map(
      other =>
        `neigh replace ${peerAddress(other)} lladdr ${macOf(0, other)} nud permanent dev peer0`,
    )
const hubNeighbourLines = (index: number): readonly string[] => [
  `neigh replace ${cloudAddress(index)} lladdr ${macOf(1, index)} nud permanent dev cloud`,
  `neigh replace ${watchAddress(index)} lladdr ${macOf(2, index)} nud permanent dev watch`,
]

const batch = (lines: readonly string[]): string => `${lines.join('\n')}\n`

/** The cables of a zone: a namespace per node, and one of somebody on the peers' network who is no member. */
export interface Network {
  readonly nodes: readonly Namespace[]
  readonly stranger: Namespace
}

/** Lay the cables of a zone of `count` nodes. */
export const openNetwork = async (count: number): Promise<Network> => {
  const nodes = await Promise.all(Array.from({ length: count }, () => Namespace.open()))
  const stranger = await Namespace.open()
  const all = [...nodes.entries(), [STRANGER, stranger] as const]
  const lines = all.flatMap(([i, space]) => linkLines(i, space.pid))
  await command('ip', ['-batch', '-'], batch([...hubLines, ...lines]))
  const isLarge = count > MANY_NODES
  for (const [index, space] of all) {
    const neighbours = isLarge && index !== STRANGER ? neighbourLines(index, count) : []
    await space.run('ip', ['-batch', '-'], batch([...nodeLines(index), ...neighbours]))
    // Only the hubs' own addresses are to be reached over these two: nodes must not meet there.
    for (const far of ['c', 'w'])
      await command('bridge', ['link', 'set', 'dev', `${far}${index}`, 'isolated', 'on'])
  }
  if (isLarge)
    await command('ip', ['-batch', '-'], batch(nodes.flatMap((_, i) => hubNeighbourLines(i))))
  return { nodes, stranger }
}

/** Pull a node's cable, or plug it in again: the node sees its carrier go. */
export const setCable = (index: number, link: Link, isUp: boolean): Promise<unknown> =>
  command('ip', ['link', 'set', `${link === 'peer' ? 'p' : 'c'}${index}`, isUp ? 'up' : 'down'])

/** What a node's firewall is told about a packet. */
export interface Rule {
  readonly chain: 'INPUT' | 'OUTPUT'
  readonly link: Link
  /** The far end; all when absent. */
  readonly peer?: string
  /** Share of the packets in per cent; all when absent. */
  readonly percent?: number
  readonly answer: 'DROP' | 'REJECT'
}

/** The arguments of iptables for a rule. */
export const ruleArguments = (rule: Rule): readonly string[] => {
  const isIn = rule.chain === 'INPUT'
  return [
    '-A',
    rule.chain,
    isIn ? '-i' : '-o',
    `${rule.link}0`,
    ...(rule.peer === undefined ? [] : [isIn ? '-s' : '-d', rule.peer]),
    ...(rule.answer === 'REJECT' ? ['-p', 'tcp'] : []),
    ...(rule.percent === undefined
      ? []
      : ['-m', 'statistic', '--mode', 'random', '--probability', String(rule.percent / 100)]),
    '-j',
    rule.answer,
    ...(rule.answer === 'REJECT' ? ['--reject-with', 'tcp-reset'] : []),
  ]
}

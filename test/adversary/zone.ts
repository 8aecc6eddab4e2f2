// SPDX-License-Identifier: Apache-2.0
import { IDENTITY_ANNOTATION } from '../../agent/identity/annotation.js'
import { readNodeKeys } from '../../agent/identity/node-keys.js'
import { makePairKey } from '../../agent/identity/pair-key.js'
import { makeKeyRing, type SignKey } from '../../agent/key-ring.js'
import { LEAP_MAX, MAX_HEARTBEAT } from '../../agent/records/heartbeat.js'
import { isOfPair, open, seal, zoneHash, type Header } from '../../agent/stages/exchange/wire.js'
import { readPublished } from '../../agent/stages/identity/own-keys.js'
import { KubeStatusError } from '../../core/errors.js'
import { id64 } from '../../core/ids.js'
import { parseRetryAfter } from '../../kube/client/retry-after.js'
import { answerError } from '../../kube/client/status-error.js'
import { settleOnce } from '../../testkit/fake-clock.js'
import type { Suspension } from '../../testkit/process-clock.js'
import { World } from '../../testkit/zone/world.js'
import type { Machine } from '../../testkit/zone/machine.js'
import type { Act, Kind, Sequence } from './acts.js'
import { Outsider } from './outsider.js'

const LABELLED = 'site'
const UNITS = ['site-unit', 'other-unit'] as const
/** How often the guards look. */
export const STEP_MS = 500
const BOOT_MS = 4_000
const YEAR_MS = 365 * 86_400_000

/** Wrong clocks: a little, two minutes, a day, 1970 and 2099. */
const OFFSETS_MS = [
  ...[-120_000, 120_000, -2_500, 2_500, -86_400_000, 86_400_000],
  ...[-56 * YEAR_MS, 73 * YEAR_MS],
]

/** What a disk may hold in the place of the saved heartbeat. */
const SPOILT = ['4294967279', '4294967280', '9007199254740991', '-5', 'NaN', '', '4000000000']

/** How an apiserver refuses: Retry-After, in seconds, comes as a header. */
const REFUSALS = [
  { status: 429, phrase: 'Too Many Requests', retryAfter: '10' },
  { status: 503, phrase: 'Service Unavailable', retryAfter: '30' },
  { status: 500, phrase: 'Internal Server Error', retryAfter: undefined },
]

/** What an apiserver, or something in front of it, may write where a number of seconds belongs; it means nothing. */
const NO_SECONDS: readonly unknown[] = ['soon', {}, [], null, 'NaN', [1, 2]]

/** Most are stopped: their clocks tell them least. */
const SUSPENSIONS: readonly Suspension[] = ['stopped', 'stopped', 'asleep', 'paused']

/** How long an agent waits after so many refusals in a row, at the longest, over what it was asked to wait. */
const waitAfter = (count: number): number => Math.min(30_000, 500 * 2 ** (count - 1))

/** What an agent came to that was refused. */
interface Wait {
  /** Refusals in a row. */
  readonly count: number
  /** Retry-After holds, whatever is served meanwhile. */
  readonly askedUntil: number
  readonly until: number
}

/** How the apiserver refuses at present. */
export interface Refusing {
  readonly since: number
  readonly status: number
  readonly retryAfterMs: number | undefined
  /** Requests of agents since, but for the checks of their links. */
  readonly asked: { readonly at: number; readonly by: string }[]
}

/** How the zone's agents sign, as `--identity`; mixed: every other one not at all. */
export const SIGNING = ['off', 'prefer', 'require', 'mixed'] as const
export type Signing = (typeof SIGNING)[number]

/** A zone under attack: the world, who attacks it, and the attack's acts. Everything that happens is in virtual time. */
export class Zone {
  readonly world: World
  readonly outsider: Outsider
  readonly size: number
  /** Called after each half second. */
  onStep: () => void = () => undefined
  /** Nodes whose Node object names somebody else's address. */
  readonly moved = new Set<number>()
  readonly pingBroken = new Set<string>()
  refusing: Refusing | undefined
  /** When each agent was last served its own Node. */
  readonly #ownReadAt = new Map<string, number>()
  /** How long each agent that was refused waits, at the longest. */
  readonly #waits = new Map<string, Wait>()
  /** Keys that were ever in use. */
  readonly #keys = ['a key of the test world']
  readonly #portless: number
  readonly #isUnit: boolean
  /** When each node that lost its disk began with new keys. */
  readonly #newKeysAt = new Map<string, number>()

  constructor({ seed, size, portless, isUnit }: Sequence, identity?: Signing) {
    const pace = { gridMs: 20, settle: settleOnce }
    const where = isUnit ? { units: UNITS } : { zone: LABELLED }
    this.world = new World(size, { seed, pace, profile: 'fast', ...where })
    this.size = size
    this.#isUnit = isUnit
    this.#portless = portless
    if (identity !== undefined)
      this.world.machines.forEach((machine, index) => {
        const mode = identity === 'mixed' ? (['prefer', 'off'] as const)[index % 2] : identity
        machine.flags = [`--identity=${mode}`]
      })
    if (portless >= 0) this.world.machine(portless).kubelet = 'portless'
    this.outsider = new Outsider(this.world)
    this.world.cluster.onCall = ({ by, what, at }) => {
      if (by.startsWith('kubelet/')) return undefined
      if (what === 'ping') {
        if (!this.pingBroken.has(by)) return undefined
        return new KubeStatusError(what, { status: 500, reason: 'InternalError', message: '' })
      }
      this.refusing?.asked.push({ at, by })
      this.#noteAnswer(by, what, at)
      return this.#refusal?.(what)
    }
  }
  #refusal: ((what: string) => KubeStatusError) | undefined

  async begin(): Promise<void> {
    this.world.bootAll()
    await this.run(BOOT_MS)
  }

  async run(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      await this.world.clock.advance(Math.min(left, STEP_MS))
      this.onStep()
    }
  }

  /** @returns how long it took; undefined when it did not come about. */
  async until(isSo: () => boolean, limitMs: number): Promise<number | undefined> {
    for (let ms = 0; ms <= limitMs; ms += STEP_MS) {
      if (isSo()) return ms
      await this.run(STEP_MS)
    }
    return undefined
  }

  #at(index: number): Machine {
    return this.world.machine(index % this.size)
  }

  get #off(): Machine[] {
    return this.world.machines.filter(({ isOn }) => !isOn)
  }

  get #on(): Machine[] {
    return this.world.machines.filter(({ isOn }) => isOn)
  }

  /** @returns whether it could be done: nobody crashes twice. */
  async perform(act: Act): Promise<boolean> {
    // The most do what they do at once, a few need time.
    const isDone = await this.#do[act.kind](act)
    if (act.kind !== 'flap-cloud') await this.run(act.thenMs)
    return isDone !== false
  }

  readonly #do: Record<Kind, (act: Act) => unknown> = {
    squat: act => this.#squat(act),
    replay: ({ value }) => {
      const absent = this.#off.map(({ address }) => address)
      const present = this.#on.map(({ address }) => address)
      return present.length > 0 && this.outsider.replay(value, absent, present) > 0
    },
    hold: ({ node, other, value }) => {
      const { address } = this.#at(node)
      const others = this.world.machines.filter(machine => machine !== this.#at(node))
      const to = value % 4 !== 0 ? others : [this.#at(other === node ? other + 1 : other)]
      this.outsider.hold(
        address,
        to.map(machine => machine.address),
      )
    },
    release: ({ value }) => this.outsider.release([0, 200, 500][value % 3]) > 0,
    flood: ({ node, other }) => {
      if (!this.#at(node).isOn) return false
      this.outsider.flood(this.#at(node).address, this.#at(other).address)
      return true
    },
    crash: ({ node }) => this.#crash(node % this.size),
    'kill-agent': ({ node }) => {
      if (this.#at(node).agent === undefined || this.#at(node).isFrozen) return false
      this.world.killAgent(node % this.size)
      return true
    },
    freeze: ({ node, value }) => {
      if (!this.#at(node).isOn || this.#at(node).isFrozen) return false
      this.world.freeze(node % this.size, SUSPENSIONS[value % SUSPENSIONS.length])
      return true
    },
    isolate: ({ node }) => {
      for (const each of this.world.machines)
        if (each !== this.#at(node)) this.#cut(each, this.#at(node))
    },
    'cut-pair': ({ node, other, value }) => {
      const [a, b] = [this.#at(node), this.#at(other === node ? other + 1 : other)]
      if (value % 2 === 0) this.#cut(a, b)
      else this.world.network.cut(a.address, b.address)
    },
    partition: ({ value }) => {
      const isLeft = (index: number): boolean => ((value >> index) & 1) === 1
      const all = this.world.indices
      this.world.partition(
        all.filter(isLeft),
        all.filter(index => !isLeft(index)),
      )
    },
    loss: ({ value }) => {
      this.world.network.loss = (1 + (value % 9)) / 100
    },
    'cut-cloud': ({ node, value }) => {
      if (value % 8 === 0) this.world.cutCloud(...this.world.indices)
      else this.world.cutCloud(node % this.size)
    },
    'flap-cloud': act => this.#flap(act),
    'api-error': ({ value }) => this.#refuse(value),
    'ping-error': ({ node }) => void this.pingBroken.add(this.#at(node).name),
    blind: ({ node }) => void (this.#at(node).isBlind = true),
    unable: ({ node }) => void (this.#at(node).isUnable = true),
    sick: ({ node }) => {
      if (!this.#at(node).isOn) return false
      this.#at(node).kubelet = 'sick'
      return true
    },
    clock: ({ node, value }) => {
      this.#at(node).wall.offsetMs = OFFSETS_MS[value % OFFSETS_MS.length]!
      if ((value >> 4) % 2 === 0) this.#restart(node % this.size)
    },
    'lose-disk': ({ node }) => {
      this.#at(node).disk.clear()
      this.#newKeysAt.set(this.#at(node).name, this.world.clock.now())
      return this.#restart(node % this.size)
    },
    'spoil-disk': ({ node, value }) => {
      if (
        !this.#restart(node % this.size, () =>
          this.#at(node).disk.set('heartbeat', SPOILT[value % SPOILT.length]!),
        )
      )
        return false
      return true
    },
    'restore-memory': act => this.#restore(act),
    leave: act => this.#leave(act),
    'move-address': ({ node, other }) => {
      if (!this.#isRegistered(this.#at(node).name)) return false
      const to = other % this.size === node % this.size ? other + 1 : other
      this.moved.add(node % this.size)
      this.world.setAddress(node % this.size, this.#at(to).address)
      return true
    },
    restart: async ({ node, value }) => {
      const machine = this.#at(node)
      if (machine.agent === undefined || machine.isFrozen) return false
      if (value % 2 === 0) return this.#restart(node % this.size)
      const stopping = machine.agent.stop()
      await this.run(2_500)
      await stopping
      return this.#restart(node % this.size)
    },
    'steal-key': act => this.#stealKey(act),
    mend: ({ node }) => this.mend(node % this.size),
    'mend-network': () => this.mendNetwork(),
    'mend-cloud': () => this.mendCloud(),
  }

  #noteAnswer(by: string, what: string, at: number): void {
    const { count, askedUntil } = this.#waits.get(by) ?? { count: 0, askedUntil: -Infinity }
    if (this.refusing === undefined) {
      this.#waits.set(by, { count: 0, askedUntil, until: askedUntil })
      if (what === `get ${by}`) this.#ownReadAt.set(by, at)
      return
    }
    const asked = Math.max(askedUntil, at + (this.refusing.retryAfterMs ?? 0))
    this.#waits.set(by, {
      count: count + 1,
      askedUntil: asked,
      until: asked + waitAfter(count + 1),
    })
  }

  /** Whether an agent was not served its own Node since then, and still waits as it was asked to. */
  waitsForOwnNode(name: string, since: number): boolean {
    const isRead = (this.#ownReadAt.get(name) ?? -Infinity) >= since
    return !isRead && this.isRefused(name)
  }

  /** Whether an agent was refused, and may still wait before it asks the apiserver again. */
  isRefused(name: string): boolean {
    return this.world.clock.now() < (this.#waits.get(name)?.until ?? -Infinity)
  }

  /** How long an agent that was refused may still wait before it asks the apiserver again; 0 where none was. */
  apiWaitMs(): number {
    const now = this.world.clock.now()
    const waits = this.#on.map(({ name }) => (this.#waits.get(name)?.until ?? now) - now)
    return Math.max(0, ...waits)
  }

  /** When a node lost its keys, last; undefined for never, and where its agent makes none. */
  lostKeysAt({ name, disk }: Machine): number | undefined {
    return disk.has('identity.json') ? this.#newKeysAt.get(name) : undefined
  }

  /** When a node lost its keys, last, and for how long others hear nothing before they believe new ones; undefined where none wait. */
  newKeysOf(machine: Machine): { readonly at: number; readonly waitMs: number } | undefined {
    const at = this.#newKeysAt.get(machine.name)
    // Asked in each step, and options take long to resolve.
    if (at === undefined) return undefined
    const { identity, identityChangeAfterMs } = this.world.optionsOf(machine)
    return identity === 'require' ? { at, waitMs: identityChangeAfterMs } : undefined
  }

  /** From now on all requests but checks of the link are refused; in one of four answers the body says when to come back, in no number. */
  #refuse(value: number): void {
    const { status, phrase, retryAfter } = REFUSALS[value % REFUSALS.length]!
    const isOdd = (value >> 4) % 4 === 0
    const retryAfterSeconds = NO_SECONDS[(value >> 6) % NO_SECONDS.length]
    const details = isOdd ? { retryAfterSeconds } : {}
    const body = JSON.stringify({ kind: 'Status', code: status, message: 'etcd', details })
    const header = isOdd ? undefined : retryAfter
    const retryAfterMs = parseRetryAfter(header, this.world.cluster.serverWall())
    this.#refusal = what => answerError(what, { status, phrase, retryAfterMs, body })
    this.refusing = { since: this.world.clock.now(), status, retryAfterMs, asked: [] }
  }

  #cut(a: Machine, b: Machine): void {
    this.world.network.cut(a.address, b.address)
    this.world.network.cut(b.address, a.address)
  }

  #crash(index: number): boolean {
    const machine = this.world.machine(index)
    if (!machine.isOn) return false
    if (machine.isFrozen) this.world.thaw(index)
    this.world.crash(index)
    return true
  }

  /** SIGKILL and up again; `between` happens to its disk while it is down. */
  #restart(index: number, between: () => void = () => undefined): boolean {
    const machine = this.world.machine(index)
    if (!machine.isOn || machine.isFrozen) return false
    this.world.killAgent(index)
    between()
    this.world.boot(index)
    return true
  }

  /** A node dies, and somebody else takes its address. */
  #squat({ node, value }: Act): boolean {
    const machine = this.#at(node)
    if (this.outsider.isSquatting(machine.address)) return false
    this.#crash(node % this.size)
    this.outsider.squat(machine.address, value)
    machine.impostor = (value >> 4) % 4 === 0 ? 401 : undefined
    return true
  }

  async #flap({ node, thenMs }: Act): Promise<void> {
    const end = this.world.clock.now() + thenMs
    while (this.world.clock.now() < end) {
      this.world.cutCloud(node % this.size)
      // A kubelet's last renewal shows for a while that the link worked.
      await this.run(18_000)
      this.world.healCloud(node % this.size)
      await this.run(7_000)
    }
  }

  /** The label goes, or that of another unit comes, or the Node is deleted and registers again without any. */
  #leave({ node, value }: Act): boolean {
    const index = node % this.size
    const { isMember, name } = this.world.machine(index)
    if (!isMember) return false
    const object = this.world.cluster.raw('node', name)
    if (this.#isUnit && value % 4 !== 1) this.world.overlap(index)
    else this.world.leave(index)
    if (value % 2 === 0 || this.#isUnit) return true
    this.world.cluster.remove('node', name)
    this.world.clock.after(2_000, () => {
      if (this.world.machine(index).isMember) return
      const { uid } = object.metadata
      this.world.cluster.put('node', name, { ...object, metadata: { uid, labels: {} } })
    })
    return true
  }

  get #ring() {
    return makeKeyRing(this.#keys.at(-1)!)
  }

  /** What the two agreed on, by the disk of the one and the Node of the other; undefined while one has no identity. */
  #pairKey(from: Machine, to: Machine, zone: bigint): SignKey | undefined {
    const text = from.disk.get('identity.json')
    const note = this.#isRegistered(to.name)
      ? this.world.cluster.node(to.name).annotations[IDENTITY_ANNOTATION]
      : undefined
    const peer = readPublished(note)
    if (text === undefined || peer === undefined) return undefined
    const { keys } = JSON.parse(text) as { readonly keys: unknown }
    const pair = {
      ...{ ownId: id64(from.name), ownAgreementKey: readNodeKeys(keys).agreementKey },
      ...{ peerId: id64(to.name), peerAgreement: peer.keys.agreement, zoneHash: zone },
    }
    return makePairKey(pair, this.#ring.primary)
  }

  /** A member's newest request to a peer, changed and signed as only who has the keys can. */
  #forge(from: Machine, to: Machine, change: (header: Header) => Partial<Header>): boolean {
    const message = this.outsider.last(from.address, to.address)
    if (message === undefined || message.route === 'result') return false
    const zone = zoneHash('', this.#isUnit ? `units:${UNITS[0]}` : LABELLED)
    const isPair = isOfPair(message.body)
    const key = isPair ? this.#pairKey(from, to, zone) : this.#ring.primary
    if (key === undefined) return false
    const opened = open(message.body, zone, { keys: [key] }, isPair ? 'of-pair' : 'shared')
    if (!opened.ok) return false
    // The number that it shows was held longer now: it is sent today, not then.
    const heldMs = opened.header.heldMs + this.world.clock.now() - message.at
    const header = { ...opened.header, heldMs, ...change(opened.header) }
    const bytes = seal(header, opened.body, zone, key)
    this.world.network.inject(from.address, to.address, message.route, bytes)
    return true
  }

  /**
   * A virtual machine is put back to an older image: its process stands still while its peers hear numbers that it
   * will use again. The messages that it sent in the time that is undone are signed here in its name. What this does
   * not show: its own clocks going back, and what it had learned meanwhile being forgotten.
   */
  async #restore({ node }: Act): Promise<boolean> {
    const index = node % this.size
    const machine = this.world.machine(index)
    if (machine.agent === undefined || machine.isFrozen) return false
    // Its clocks stand too: it cannot tell by itself.
    this.world.freeze(index, 'paused')
    await this.run(500)
    let reached = 0
    for (const to of this.#on)
      if (to !== machine && this.#forge(machine, to, h => ({ senderSeq: h.senderSeq + 100_000 })))
        reached++
    await this.run(500)
    this.world.thaw(index)
    return reached > 0
  }

  /**
   * The key is stolen and used once, for records with the largest heartbeats that there are; then the key is
   * replaced, and all agents are started again.
   */
  async #stealKey({ node, other, value }: Act): Promise<boolean> {
    const [a, b] = [this.#at(node), this.#at(other === node ? other + 1 : other)]
    const baseHb = [MAX_HEARTBEAT - 16, LEAP_MAX - 16, 0xffff_ffff][value % 3]!
    const isDone = this.#forge(a, b, h => ({ senderSeq: h.senderSeq + 1, baseHb }))
    await this.run(3_000)
    this.#keys.push(`key number ${this.#keys.length} of the zone`)
    this.world.cluster.put('secret', 'edge-health-keys', { data: { primary: this.#keys.at(-1)! } })
    for (const index of this.world.indices) this.#restart(index)
    return isDone
  }

  /** Whatever was done to this node is undone; its address is its own again. */
  mend(index: number): boolean {
    const machine = this.world.machine(index)
    const { name, address } = machine
    const { world } = this
    let isChange = machine.isBlind || machine.isUnable || !machine.isMember || this.moved.has(index)
    machine.isBlind = false
    machine.isUnable = false
    machine.wall.offsetMs = 0
    this.pingBroken.delete(name)
    if (!machine.isMember) this.#comeBack(index)
    if (this.moved.delete(index)) world.setAddress(index, address)
    if (machine.isFrozen) {
      world.thaw(index)
      isChange = true
    }
    if (!machine.isOn) {
      this.outsider.yield(address)
      machine.impostor = undefined
      world.repair(index)
      isChange = true
    }
    if (machine.agent === undefined) {
      world.boot(index)
      isChange = true
    }
    if (machine.kubelet === 'sick') world.restartKubelet(index)
    machine.kubelet = index === this.#portless ? 'portless' : 'well'
    world.healCloud(index)
    return isChange
  }

  #isRegistered(name: string): boolean {
    try {
      this.world.cluster.raw('node', name)
      return true
    } catch (error) {
      if (error instanceof KubeStatusError && error.status === 404) return false
      throw error
    }
  }

  /** It registers as a member again; its Node may have been deleted meanwhile. */
  #comeBack(index: number): void {
    const { name, address } = this.world.machine(index)
    if (!this.#isRegistered(name))
      this.world.cluster.put('node', name, {
        ...{ apiVersion: 'v1', kind: 'Node', spec: {} },
        status: {
          addresses: [{ type: 'InternalIP', address }],
          conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
        },
      })
    this.world.join(index)
  }

  mendNetwork(): void {
    this.outsider.release()
    this.world.network.healAll()
    this.world.network.loss = 0
  }

  mendCloud(): void {
    this.#refusal = undefined
    this.refusing = undefined
    this.pingBroken.clear()
    this.world.healCloud(...this.world.indices)
  }
}

// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { InvalidInputError, reasonOf } from '../../../core/errors.js'
import type { Logger } from '../../../core/log.js'
import type { NodeView } from '../../../core/node.js'
import { parseJson } from '../../../core/parse.js'
import { isRosterOf, makeRoster, type Roster } from '../../../core/roster.js'
import type { ZoneName } from '../../../core/ids.js'
import type { Random } from '../../../core/random.js'
import type { ApiBackoff } from '../../api-backoff.js'
import type { KubeApi, MemberView } from '../../ports/kube-api.js'
import { KeptZoneConfig } from './kept-zone-config.js'
import { parseRoster, rememberRoster, type RememberedRoster } from './remembered-roster.js'
import { SharedAddresses } from './shared-addresses.js'
import { parseRememberedZoneConfig, UNIT_CONFIG, ZONE_CONFIG } from './zone-config.js'
import {
  isOfZone,
  membersOf,
  membersSelector,
  ruleKeys,
  zoneRuleOf,
  type ZoneRule,
  type Membership,
} from './zone-rule.js'
import { watchZone, type Found, type Selected, type ZoneWatch } from './zone-watch.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { StateFolder } from '../../state-folder.js'
import type { ConfigProblem, NodeListResult } from '../../results.js'
import type { ResultStore } from '../../store.js'

/** ConfigMap with SuperEdge's shared key. */
export const HMAC_CONFIG = 'hmac-config'

type NodeListOptions = Pick<
  AgentOptions,
  | 'nodeName'
  | 'nodeAddress'
  | 'namespace'
  | 'edgeSelector'
  | 'keySecret'
  | 'zoneWatchUpTo'
  | 'zonePollPeriodMs'
>

/** The world as the stage sees it. */
export interface NodeListSeams {
  readonly kube: KubeApi
  readonly folder: StateFolder
  readonly store: ResultStore
  readonly clock: Clock
  readonly random: Random
  readonly apiBackoff: ApiBackoff
  readonly log: Logger
}

interface RosterKeeperSeams extends NodeListSeams {
  /** The key material as the API has it now; called again when it changes. */
  readonly onKeys: (secret: Found, hmacConfig: Found) => void
  /** Called once for each broken version of a ConfigMap. */
  readonly onProblem: (problem: ConfigProblem) => void
}

/** Why these nodes are the zone, and who was left out, as text. */
const whyWords = ({ why }: ZoneRule, inOtherUnits: readonly string[]): string => {
  const count = inOtherUnits.length
  if (count === 0) return why
  const names = inOtherUnits.slice(0, 5).join(', ') + (count > 5 ? ', …' : '')
  return `${why}, but ${count} that are in other units too and so in a zone of their own (${names})`
}

const selectedBy = (rule: ZoneRule): Selected | undefined => {
  if (rule.kind !== 'selector') return undefined
  const isShared = rule.otherUnits.length > 0
  return { selector: membersSelector(rule), wider: isShared ? rule.selector : undefined }
}

/** @throws InvalidInputError when the own Node has no address */
const addressOf = ({ name, internalIPs }: NodeView, given: string | undefined): string => {
  const address = given ?? internalIPs[0]
  if (address === undefined)
    throw new InvalidInputError(`Node ${name}`, 'must have an InternalIP', internalIPs)
  return address
}

/** A roster, and what it was made of. */
interface Made {
  readonly zone: ZoneName
  /** Of the own node. */
  readonly address: string
  readonly nodes: Nodes
  readonly membership: Membership
  readonly roster: Roster
}

type Nodes = ReadonlyMap<string, MemberView>

/** The known roster, if it names the same members with the same addresses. */
const rosterOf = (
  own: NodeView,
  zone: ZoneName,
  { members }: Membership,
  last: Roster | undefined,
): Roster =>
  last !== undefined && isRosterOf(last, zone, own.name, members)
    ? last
    : makeRoster(zone, own.name, members)

const waitingFor = ({ roster, source, problems }: NodeListResult): string => {
  if (problems.length > 0) throw new InvalidInputError('zone config', 'must be usable', problems)
  return roster === undefined
    ? 'waiting for the API'
    : `waiting for the API; ${roster.members.length} nodes from ${source}`
}

/** What was saved on disk; undefined when there is nothing, or nothing usable. */
const recall = async <T>(
  { folder, log }: Pick<NodeListSeams, 'folder' | 'log'>,
  name: 'roster.json' | 'zone-config.json',
  parse: (text: string) => T,
): Promise<T | undefined> => {
  const text = await folder.read(name)
  if (text === undefined) return undefined
  try {
    return parse(text)
  } catch (error) {
    log.warn('remembered state is not used', { name, error: reasonOf(error) })
    return undefined
  }
}

/**
 * Knows who is in the zone: ConfigMaps, the own Node and the zone's Nodes → the roster in the store, remembered on disk.
 */
export class RosterKeeper {
  readonly #options: NodeListOptions
  readonly #seams: RosterKeeperSeams
  readonly #shared: SharedAddresses
  #watch: ZoneWatch | undefined
  #configs: KeptZoneConfig | undefined
  #made: Made | undefined

  constructor(options: NodeListOptions, seams: RosterKeeperSeams) {
    this.#options = options
    this.#seams = seams
    this.#shared = new SharedAddresses(problem => seams.onProblem(problem))
  }

  /** Full lists that the watches asked for so far. */
  get lists(): number {
    return this.#watch?.lists ?? 0
  }

  /** Load what was saved on disk, then watch. */
  async start(): Promise<void> {
    const { nodeName, namespace, keySecret, zoneWatchUpTo, zonePollPeriodMs } = this.#options
    const config = await recall(this.#seams, 'zone-config.json', text =>
      parseRememberedZoneConfig(parseJson('remembered zone config', text)),
    )
    this.#configs = new KeptZoneConfig(namespace, config, this.#seams)
    const last = await recall(this.#seams, 'roster.json', text => parseRoster(text, nodeName))
    if (last !== undefined) this.#publish({ ...last, source: 'disk' })
    const configMaps = [ZONE_CONFIG, UNIT_CONFIG, HMAC_CONFIG]
    this.#watch = watchZone(
      {
        ...{ nodeName, namespace, configMaps, secret: keySecret },
        ...{ watchUpTo: zoneWatchUpTo, pollMs: zonePollPeriodMs },
      },
      { ...this.#seams, onChange: () => this.#onChange() },
    )
  }

  /** Compute the roster from what the watches hold; says in words what came out. */
  round(): string {
    return this.#compute({ mayWait: false })
  }

  /** Nobody reaches this member any more: its Node may be gone, or have another address. */
  doubt(name: string): void {
    this.#watch?.doubt(name)
  }

  async stop(): Promise<void> {
    await this.#watch?.stop()
    await this.#seams.folder.settled()
  }

  /** A watch brought a change: compute at once. The next scheduled round reports what this throws. */
  #onChange(): void {
    try {
      this.#compute({ mayWait: true })
    } catch (error) {
      this.#seams.log.debug('roster not computed', { error: reasonOf(error) })
    }
  }

  /** @param mayWait whether the configuration that decides which labels matter may still come in a moment */
  #compute({ mayWait }: { readonly mayWait: boolean }): string {
    const watch = this.#watch
    if (watch === undefined) return 'starting'
    const { keySecret, nodeName, edgeSelector } = this.#options
    const { store, onKeys } = this.#seams
    onKeys(watch.secret(keySecret), watch.configMap(HMAC_CONFIG))
    const config = this.#configs?.take(watch.configMap(ZONE_CONFIG), watch.configMap(UNIT_CONFIG))
    const { own } = watch
    this.#publish({ problems: this.#problems, isRegistered: own !== null && own !== undefined })
    if (own === null) throw new InvalidInputError('own Node', 'must exist in the API', nodeName)
    if (config !== undefined) watch.followOwn(ruleKeys(config))
    else if (own !== undefined && !mayWait) watch.followOwn([])
    if (own === undefined || config === undefined) return waitingFor(store.nodeList.current)
    const rule = zoneRuleOf(own, config, edgeSelector)
    watch.select(selectedBy(rule))
    const nodes = rule.kind === 'selector' ? watch.members : new Map<string, MemberView>()
    return nodes === undefined ? waitingFor(store.nodeList.current) : this.#take(own, rule, nodes)
  }

  #take(own: NodeView, rule: ZoneRule, nodes: Nodes): string {
    const { clock } = this.#seams
    const { membership, roster } = this.#makeRoster(own, rule, nodes)
    const why = whyWords(rule, this.#watch?.elsewhere.filter(name => name !== own.name) ?? [])
    const listedAt = clock.wall()
    this.#shared.review(roster, listedAt)
    this.#remember({ roster, listedAt, rule: why })
    this.#publish({
      ...{ roster, source: 'api', listedAt, rule: why },
      ownNode: () => this.#watch?.own ?? undefined,
      isOfZone: node => isOfZone(rule, node),
      withoutAddress: membership.withoutAddress,
      problems: this.#problems,
    })
    return `${roster.members.length} nodes: ${why}`
  }

  /** In a large zone, members are not looked at one by one where nothing has changed. */
  #makeRoster(own: NodeView, { zone }: ZoneRule, nodes: Nodes): Made {
    const { roster: last } = this.#seams.store.nodeList.current
    const address = addressOf(own, this.#options.nodeAddress)
    const made = this.#made
    const isSame = made?.nodes === nodes && made.address === address && made.zone === zone
    if (isSame && made.roster === last) return made
    const membership = membersOf({ name: own.name, address }, nodes.values())
    const roster = rosterOf(own, zone, membership, last)
    this.#made = { zone, address, nodes, membership, roster }
    return this.#made
  }

  /** Save and log a roster, unless it is the known one and came from the API. */
  #remember(next: RememberedRoster): void {
    const { store, folder, log } = this.#seams
    const { roster: last, source } = store.nodeList.current
    const { roster, rule } = next
    if (roster === last && source === 'api') return
    void folder.write('roster.json', rememberRoster(next))
    log.info('roster', { zone: roster.zone, members: roster.members.length, rule })
  }

  get #problems(): readonly ConfigProblem[] {
    return [...(this.#configs?.problems ?? []), ...this.#shared.problems]
  }

  #publish(change: Partial<NodeListResult>): void {
    const { nodeList } = this.#seams.store
    nodeList.set(Object.freeze({ ...nodeList.current, ...change }))
  }
}

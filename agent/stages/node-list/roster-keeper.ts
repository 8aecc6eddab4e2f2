// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { InvalidInputError, reasonOf } from '../../../core/errors.js'
import type { Logger } from '../../../core/log.js'
import type { NodeView } from '../../../core/node.js'
import { parseJson } from '../../../core/parse.js'
import { isRosterOf, makeRoster, type Roster } from '../../../core/roster.js'
import type { Random } from '../../../core/random.js'
import type { ApiBackoff } from '../../api-backoff.js'
import type { KubeApi, MemberView } from '../../ports/kube-api.js'
import { KeptZoneConfig } from './kept-zone-config.js'
import { parseRoster, rememberRoster, type RememberedRoster } from './remembered-roster.js'
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

/** Knows who is in the zone. */
export interface RosterKeeper {
  /** Take what disk remembers, then watch. */
  start(): Promise<void>
  /** Compute the roster from what the watches hold; says in words what came out. */
  round(): string
  /** Nobody reaches this member any more: its Node may be gone, or have another address. */
  doubt(name: string): void
  /** Full lists that the watches asked for so far. */
  readonly lists: number
  stop(): Promise<void>
}

/** Which addresses belong to more than one member, in words; undefined when none does. */
const sharedAddresses = (roster: Roster): string | undefined => {
  const words = roster.members.flatMap(({ name, address }, index) => {
    const others = roster.sharersOf(index)
    return others.length === 0 || others.some(other => other < name)
      ? []
      : [`${[name, ...others].join(', ')} all have the InternalIP ${address}`]
  })
  return words.length === 0 ? undefined : words.sort().join('; ')
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

/** ConfigMaps, the own Node and the zone's Nodes → the roster in the store, remembered on disk. */
export const makeRosterKeeper = (
  options: NodeListOptions,
  seams: RosterKeeperSeams,
): RosterKeeper => {
  const { store, folder, clock, log } = seams
  let watch: ZoneWatch | undefined
  let configs: KeptZoneConfig | undefined

  const publish = (change: Partial<NodeListResult>): void =>
    store.nodeList.set(Object.freeze({ ...store.nodeList.current, ...change }))

  const remember = (next: RememberedRoster): void => {
    void folder.write('roster.json', rememberRoster(next))
  }
  const problems = (): ConfigProblem[] => [
    ...(configs?.problems ?? []),
    ...(shared ? [shared] : []),
  ]
  let shared: ConfigProblem | undefined
  /** Several Nodes with one address: an answer from there says nothing about any of them until one of them signs. */
  const reviewShared = (roster: Roster, wall: number): void => {
    const problem = sharedAddresses(roster)
    if (problem === shared?.problem) return
    shared =
      problem === undefined
        ? undefined
        : { thing: 'Nodes of the zone', problem, inForce: 'itself', since: wall }
    if (shared !== undefined) seams.onProblem(shared)
  }

  const rosterOf = (
    own: NodeView,
    rule: ZoneRule,
    nodes: Iterable<MemberView>,
  ): [Roster, Membership] => {
    const address = options.nodeAddress ?? own.internalIPs[0]
    if (address === undefined)
      throw new InvalidInputError(`Node ${own.name}`, 'must have an InternalIP', own.internalIPs)
    const membership = membersOf({ name: own.name, address }, nodes)
    const { members } = membership
    const { roster: last } = store.nodeList.current
    const isSame = last !== undefined && isRosterOf(last, rule.zone, own.name, members)
    return [isSame ? last : makeRoster(rule.zone, own.name, members), membership]
  }
  const take = (own: NodeView, rule: ZoneRule, nodes: ReadonlyMap<string, MemberView>): string => {
    const [roster, membership] = rosterOf(own, rule, nodes.values())
    const why = whyWords(rule, watch?.elsewhere.filter(name => name !== own.name) ?? [])
    const { roster: last, source } = store.nodeList.current
    const listedAt = clock.wall()
    reviewShared(roster, listedAt)
    if (roster !== last || source !== 'api') {
      remember({ roster, listedAt, rule: why })
      log.info('roster', { zone: roster.zone, members: roster.members.length, rule: why })
    }
    publish({
      roster,
      source: 'api',
      listedAt,
      rule: why,
      ownNode: () => watch?.own ?? undefined,
      isOfZone: node => isOfZone(rule, node),
      withoutAddress: membership.withoutAddress,
      problems: problems(),
    })
    return `${roster.members.length} nodes: ${why}`
  }
  /** @param mayWait whether what decides the labels that matter may come in a moment */
  const compute = (mayWait: boolean): string => {
    if (watch === undefined) return 'starting'
    seams.onKeys(watch.secret(options.keySecret), watch.configMap(HMAC_CONFIG))
    const config = configs?.take(watch.configMap(ZONE_CONFIG), watch.configMap(UNIT_CONFIG))
    const { own } = watch
    publish({ problems: problems(), isRegistered: own !== null && own !== undefined })
    if (own === null)
      throw new InvalidInputError('own Node', 'must exist in the API', options.nodeName)
    if (config !== undefined) watch.followOwn(ruleKeys(config))
    else if (own !== undefined && !mayWait) watch.followOwn([])
    if (own === undefined || config === undefined) return waiting()
    const rule = zoneRuleOf(own, config, options.edgeSelector)
    watch.select(selectedBy(rule))
    const nodes = rule.kind === 'selector' ? watch.members : new Map<string, MemberView>()
    return nodes === undefined ? waiting() : take(own, rule, nodes)
  }
  const waiting = (): string => {
    const { roster, source, problems: broken } = store.nodeList.current
    if (broken.length > 0) throw new InvalidInputError('zone config', 'must be usable', broken)
    return roster === undefined
      ? 'waiting for the API'
      : `waiting for the API; ${roster.members.length} nodes from ${source}`
  }
  /** A watch brought a change: compute at once; what it throws is the next scheduled round's to report. */
  const onChange = (): void => {
    try {
      compute(true)
    } catch (error) {
      log.debug('roster not computed', { error: reasonOf(error) })
    }
  }
  const recall = async <T>(
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
  return {
    start: async () => {
      const config = await recall('zone-config.json', text =>
        parseRememberedZoneConfig(parseJson('remembered zone config', text)),
      )
      configs = new KeptZoneConfig(options.namespace, config, seams)
      const last = await recall('roster.json', text => parseRoster(text, options.nodeName))
      if (last !== undefined) publish({ ...last, source: 'disk' })
      watch = watchZone(
        {
          nodeName: options.nodeName,
          namespace: options.namespace,
          configMaps: [ZONE_CONFIG, UNIT_CONFIG, HMAC_CONFIG],
          secret: options.keySecret,
          watchUpTo: options.zoneWatchUpTo,
          pollMs: options.zonePollPeriodMs,
        },
        { ...seams, onChange },
      )
    },
    round: () => compute(false),
    doubt: name => watch?.doubt(name),
    get lists() {
      return watch?.lists ?? 0
    },
    stop: async () => {
      await watch?.stop()
      await folder.settled()
    },
  }
}

// SPDX-License-Identifier: Apache-2.0
import { parseZoneName, type ZoneName } from '../../../core/ids.js'
import type { NodeView } from '../../../core/node.js'
import type { Member } from '../../../core/roster.js'
import type { MemberView } from '../../ports/kube-api.js'
import { parseLabelSelector } from '../../../kube/label-selector.js'
import { NO_ZONE_CONFIGURED } from '../../zone-trap.js'
import type { ZoneConfig } from './zone-config.js'

/** The node label that names a node's zone. */
export const ZONE_LABEL = 'superedgehealth/topology-zone'
/** The value of a node label whose key is a unit that the node belongs to. */
export const UNIT_LABEL_VALUE = 'nodeunits.superedge.io'
const CONTROL_PLANE_LABELS = [
  'node-role.kubernetes.io/master',
  'node-role.kubernetes.io/control-plane',
]

/** Which nodes check each other, from the own node's point of view. */
export type ZoneRule =
  /** All nodes whose labels match `selector` (empty: all there are). */
  | {
      readonly kind: 'selector'
      readonly zone: ZoneName
      readonly selector: string
      /** Units that no member is in: a node in one of these belongs to another zone, though the selector finds it. */
      readonly otherUnits: readonly string[]
      readonly why: string
    }
  /** The own node alone: nobody votes on it and it votes on nobody. */
  | { readonly kind: 'only-me'; readonly zone: ZoneName; readonly why: string }

const notControlPlane = CONTROL_PLANE_LABELS.map(label => `!${label}`)

const selectorOf = (terms: readonly string[], edgeSelector: string): string =>
  [...terms, ...notControlPlane, ...(edgeSelector === '' ? [] : [edgeSelector])].join(',')

const onlyMe = (own: NodeView, why: string): ZoneRule => ({
  kind: 'only-me',
  zone: parseZoneName(`only:${own.name}`),
  why,
})

const byUnits = (own: NodeView, names: readonly string[], edgeSelector: string): ZoneRule => {
  const mine = names.filter(name => own.labels[name] === UNIT_LABEL_VALUE).sort()
  if (names.length === 0) return onlyMe(own, 'units are on, but check-units names none')
  if (mine.length === 0) return onlyMe(own, `this node is in none of the units ${names.join(', ')}`)
  // Units may overlap. Members of a zone must agree on who is in it, so it is those of exactly the same units.
  return {
    kind: 'selector',
    otherUnits: names.filter(name => !mine.includes(name)),
    zone: parseZoneName(`units:${mine.join(',')}`),
    selector: selectorOf(
      mine.map(name => `${name}=${UNIT_LABEL_VALUE}`),
      edgeSelector,
    ),
    why: `nodes of unit ${mine.join(' and ')}`,
  }
}

const byZoneLabel = (own: NodeView, edgeSelector: string): ZoneRule => {
  const value = own.labels[ZONE_LABEL]
  if (value === undefined || value === '') {
    return onlyMe(own, `zones are on, but this node has no label ${ZONE_LABEL}`)
  }
  return {
    kind: 'selector',
    zone: parseZoneName(value),
    otherUnits: [],
    selector: selectorOf([`${ZONE_LABEL}=${value}`], edgeSelector),
    why: `nodes with ${ZONE_LABEL}=${value}`,
  }
}

const everybody = (edgeSelector: string, why: string): ZoneRule => ({
  kind: 'selector',
  otherUnits: [],
  zone: parseZoneName(''),
  selector: selectorOf([], edgeSelector),
  why,
})

/**
 * Which nodes belong to the own node's zone. Units win over zones where both are configured, since that is
 * SuperEdge's later form. A rule that would pick nobody, or everybody by accident, is `only-me`.
 */
export const zoneRuleOf = (own: NodeView, config: ZoneConfig, edgeSelector: string): ZoneRule => {
  const controlPlane = CONTROL_PLANE_LABELS.find(label => own.labels[label] !== undefined)
  if (controlPlane !== undefined)
    return onlyMe(own, `this node is a control-plane node (${controlPlane})`)
  const { units, zones } = config
  if (units !== undefined) {
    if (!units.isOn) return everybody(edgeSelector, 'all edge nodes: unit-internal-check is false')
    return byUnits(own, units.names, edgeSelector)
  }
  if (zones?.isOn === true) return byZoneLabel(own, edgeSelector)
  return everybody(
    edgeSelector,
    zones === undefined ? NO_ZONE_CONFIGURED : 'all edge nodes: TaintZoneAdmission is false',
  )
}

/** The keys of the labels of the own Node that `zoneRuleOf` looks at. */
export const ruleKeys = ({ units }: ZoneConfig): readonly string[] => [
  ...CONTROL_PLANE_LABELS,
  ZONE_LABEL,
  ...(units?.names ?? []),
]

/** A selector that matches the Node as long as its labels of these keys stay as they are. */
export const factsOf = ({ labels }: NodeView, keys: readonly string[]): string =>
  [...new Set(keys)]
    .sort()
    .map(key => (labels[key] === undefined ? `!${key}` : `${key}=${labels[key]}`))
    .join(',')

/** A selector that finds exactly the members, without nodes that are in another unit as well. */
export const membersSelector = ({
  selector,
  otherUnits,
}: Extract<ZoneRule, { kind: 'selector' }>): string =>
  [selector, ...otherUnits.map(unit => `${unit}!=${UNIT_LABEL_VALUE}`)].join(',')

const isInOtherUnit = (labels: NodeView['labels'], otherUnits: readonly string[]): boolean =>
  otherUnits.some(unit => labels[unit] === UNIT_LABEL_VALUE)

/** Whether the Node belongs to the zone by its own labels, as the apiserver matches them. */
export const isOfZone = (rule: ZoneRule, { labels }: Pick<NodeView, 'labels'>): boolean =>
  rule.kind === 'selector' &&
  parseLabelSelector(rule.selector)(new Map(Object.entries(labels))) &&
  !isInOtherUnit(labels, rule.otherUnits)

/** The zone's members, and those that cannot take part. */
export interface Membership {
  readonly members: readonly Member[]
  /** They have no InternalIP. */
  readonly withoutAddress: readonly string[]
}

/**
 * Which of the listed nodes take part. The own node always does, at `ownAddress`, whether it was listed or not:
 * an empty list is "only me".
 */
export const membersOf = (
  own: { readonly name: NodeView['name']; readonly address: string },
  nodes: Iterable<MemberView>,
): Membership => {
  const members: Member[] = [own]
  const withoutAddress: string[] = []
  for (const { name, address } of nodes) {
    if (name === own.name) continue
    if (address === undefined) withoutAddress.push(name)
    else members.push({ name, address })
  }
  return { members, withoutAddress }
}

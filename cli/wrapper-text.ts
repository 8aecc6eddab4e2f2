// SPDX-License-Identifier: Apache-2.0
import type {
  EndpointDecision,
  HealthView,
  NeighboursView,
  ResourceView,
  ServiceView,
  WrapperStatusView,
} from '../wrapper/status/status-view.js'
import { ageText, clean, table, type Paint } from '../core/text.js'

const WORDS: Readonly<Record<string, string>> = {
  kept: 'shown',
  'kept-own-node': 'kept: it runs on this node',
  'kept-no-node': 'kept: it names no node',
  'kept-unknown-node': "kept: its node's health is not known",
  'kept-stale-health':
    "kept: its node was dead in the agent's last report, which is too old to count",
  'kept-last-of-port': 'kept although its node is dead: otherwise a port would have no endpoint',
  'no-topology-match': "left out: its node shares no topology key's value with this one",
  'own-node-not-listed':
    'left out: the service asks for topology, and this node itself is not in the list of nodes',
  'local-endpoint': "kept: this node's address for the apiserver, from the annotations",
  'replaced-by-local': 'left out: the annotations name an address of this node for the apiserver',
  'node-dead': "left out: its node is dead, according to this node's agent",
}

const healthText = (health: HealthView): string => {
  const { state, source, ageSeconds, dead, trouble } = health
  if (state === 'off') return 'off: no endpoint is left out for the health of its node'
  const how = { none: '', push: ', pushed by the agent', poll: ', polled' }[source]
  const age = ageSeconds === null ? '' : `, heard ${ageText(ageSeconds)} ago`
  const nodes = dead.length === 0 ? 'nobody is dead' : `dead: ${dead.join(', ')}`
  const known = state === 'waiting' ? '' : `; ${nodes}`
  return `${state}${how}${age}${known}${trouble === null ? '' : `; ${trouble}`}`
}

const keysText = ({ isKnown, topologyKeys, topologyTrouble }: ServiceView): string => {
  const keys = topologyKeys.length === 0 ? 'none' : topologyKeys.join(', ')
  if (!isKnown) return 'the Service is not known'
  if (topologyTrouble === null) return keys
  const why = topologyKeys.length === 0 ? '' : 'the last valid ones: '
  return `${keys} (${why}${topologyTrouble})`
}

const endpointRows = (
  title: string,
  decisions: readonly EndpointDecision[],
  paint: Paint,
): readonly string[] => {
  if (decisions.length === 0) return []
  const shown = decisions.filter(({ isKept }) => isKept).length
  const rows = decisions.map(({ object, address, node, isKept, reason }) => [
    address,
    node ?? '–',
    object,
    { text: WORDS[reason] ?? reason, ...(isKept ? {} : { colour: 'red' as const }) },
  ])
  const head = ['ADDRESS', 'NODE', 'OBJECT', 'FATE']
  return [`\n${title}: ${shown} of ${decisions.length} shown\n`, table([head, ...rows], paint)]
}

/** A service for people: each endpoint, whether it is served, and why. */
export const serviceText = (view: ServiceView, paint: Paint): string => {
  const { service, node, slices, endpoints } = view
  const none = slices.length + endpoints.length === 0 ? ['\nit has no endpoints\n'] : []
  return [
    `${clean(service)} as ${clean(node)} sees it\n`,
    `topology keys  ${clean(keysText(view))}\n`,
    `health         ${clean(healthText(view.health))}\n`,
    ...none,
    ...endpointRows('endpoints of its slices', slices, paint),
    ...endpointRows('endpoints of its Endpoints object', endpoints, paint),
  ].join('')
}

const sourceText = ({ source, isStale }: ResourceView): string => {
  if (source === 'disk') return 'disk, stale'
  return isStale ? `${source}, stale` : source
}

const neighboursText = (one: NeighboursView): string => {
  const { label, value, nodes, how, trouble } = one
  const known = nodes === null ? 'not known yet' : `${nodes} nodes, ${how}`
  const why = trouble === null ? '' : `; ${clean(trouble)}`
  return `neighbours ${clean(label)}=${clean(value)}: ${known}${why}\n`
}

/** The wrapper for people. */
export const wrapperStatusText = (view: WrapperStatusView, paint: Paint): string => {
  const { node, ready, resources, neighbours, health, malformed, requests, events, disk } = view
  const { apiserverTrouble } = view
  const rows = resources.map(each => [
    each.resource,
    { text: sourceText(each), ...(each.isStale ? { colour: 'yellow' as const } : {}) },
    String(each.objects),
    ageText(each.ageSeconds),
    String(each.watchers),
    each.trouble ?? '',
  ])
  const header = ['RESOURCE', 'FROM', 'OBJECTS', 'HEARD', 'WATCHERS', 'TROUBLE']
  const waiting =
    events.waiting + events.dropped === 0
      ? []
      : [`events     ${events.waiting} wait for the apiserver, ${events.dropped} were refused\n`]
  return [
    `wrapper of ${clean(node)}: ${ready.isReady ? 'ready' : 'not ready'} (${clean(ready.reason)})\n`,
    `health     ${clean(healthText(health))}\n`,
    ...neighbours.map(neighboursText),
    `requests   ${requests.gets} gets, ${requests.lists} lists, ${requests.watches} watches; ${requests.passed} passed through, ${requests.unreachable} answered 503 while the apiserver could not be reached\n`,
    ...waiting,
    ...malformed.map(
      name =>
        paint('yellow', `! topologyKeys of ${clean(name)} cannot be read, or is empty`) + '\n',
    ),
    ...(apiserverTrouble === null ? [] : [paint('yellow', `! ${clean(apiserverTrouble)}`), '\n']),
    ...(disk.trouble === null ? [] : [paint('yellow', `! disk: ${clean(disk.trouble)}`), '\n']),
    '\n',
    table([header, ...rows], paint),
  ].join('')
}

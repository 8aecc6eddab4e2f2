// SPDX-License-Identifier: Apache-2.0
// What doctor concludes about the zone: its keys, its members, and whether its agents exchange votes.
import type { StatusView } from '../agent/http/status-view.js'
import { withOtherKeys } from '../agent/text/key-sets.js'
import { listed } from '../core/text.js'
import type { DoctorFacts } from './doctor-facts.js'
import { fail, ok, warn, type Finding } from './finding.js'

type KeyFacts = Pick<DoctorFacts, 'agent' | 'namespace' | 'keySecret'>

/** How to find out which node has the wrong keys. */
const compareKeys = (peer: string, path: string, { namespace, keySecret }: KeyFacts): string =>
  `compare with the key set that doctor shows on ${peer}, and with that of the Secret (without a secondary): kubectl -n ${namespace} get secret ${keySecret} -o jsonpath='{.data.primary}' | base64 -d | openssl sha256 -binary | openssl sha256 -binary | od -An -tx4 -N4; the node that differs has another --namespace or --key-secret, or has not reached the apiserver since it wrote ${path}/keys.json`

const keySets = (status: StatusView, facts: KeyFacts): Finding => {
  const { keys, zone } = status
  const others = withOtherKeys(status)
  const names = listed(others.map(({ name }) => name))
  const refused = others.find(({ peer }) => peer?.isKeyRefused === true)
  const saw = `key set ${keys.set ?? 'unknown'} is shared by ${keys.sharedBy} of ${zone.members} members`
  if (refused !== undefined)
    return fail('key', `${saw}, and signatures are refused; not shared by ${names}`, compareKeys(refused.name, status.disk.path, facts)) // prettier-ignore
  return others.length === 0
    ? ok('key', saw)
    : warn('key', `${saw}; another set: ${names}`, 'in a rotation, wait until all members have read the Secret before the next step') // prettier-ignore
}

/** Whether the agent has keys, and whether the members have the same ones. */
export const keyFindings = (facts: KeyFacts): readonly Finding[] => {
  const { agent, namespace, keySecret } = facts
  if (!agent.ok) return []
  const { keys } = agent.value
  const make = `kubectl -n ${namespace} create secret generic ${keySecret} --from-literal=primary="$(openssl rand -base64 32)"`
  const fix =
    agent.value.roster.source === 'none'
      ? `see apiserver and rbac below; if there is no Secret: ${make}`
      : make
  if (keys.state === 'missing') return [fail('key', `no usable key, so nothing is judged${keys.trouble === null ? '' : `: ${keys.trouble}`}`, fix)] // prettier-ignore
  if (keys.trouble !== null)
    return [
      fail('key', `the last good keys are used: ${keys.trouble}`, `repair Secret ${keySecret}`),
    ]
  return [keySets(agent.value, facts)]
}

const namesNotIn = (names: readonly string[], others: readonly string[]): readonly string[] =>
  names.filter(name => !others.includes(name))

const AS_SAID = 'members, as in the Nodes and ConfigMaps'
const OTHER_ROSTER =
  'give doctor the options of the agent (--edge-selector); if the difference stays, restart the agent and look at its log'

const compareMembers = ({ nodes, zone }: StatusView, members: readonly string[]): Finding => {
  // Without a key no node is judged, and the agent shows only the number of members.
  if (nodes.length === 0)
    return zone.members === members.length
      ? ok('roster', `${zone.members} ${AS_SAID}`)
      : fail('roster', `the agent counts ${zone.members} members, and the Nodes name ${listed(members)}`, OTHER_ROSTER) // prettier-ignore
  const names = nodes.map(({ name }) => name)
  const missing = namesNotIn(members, names)
  const extra = namesNotIn(names, members)
  if (missing.length + extra.length === 0) return ok('roster', `${names.length} ${AS_SAID}`)
  const saw = [
    ...(missing.length > 0 ? [`does not know ${listed(missing)}`] : []),
    ...(extra.length > 0 ? [`counts ${listed(extra)}, which the Nodes do not name`] : []),
  ]
  return fail('roster', `the agent ${saw.join(' and ')}`, OTHER_ROSTER)
}

/** Whether the agent's members are the nodes that are in the zone now. */
export const rosterFindings = ({
  agent,
  members,
}: Pick<DoctorFacts, 'agent' | 'members'>): readonly Finding[] => {
  if (!agent.ok) return []
  const { source, trouble } = agent.value.roster
  if (source === 'none')
    return [fail('roster', trouble ?? 'the zone is not known yet', 'see apiserver and rbac above')]
  if (trouble !== null) return [fail('roster', trouble, 'repair the object that is named')]
  if (!members.ok) return [warn('roster', `could not be compared with the Nodes: ${members.reason}`, 'see apiserver and rbac above')] // prettier-ignore
  const compared = compareMembers(agent.value, members.value)
  if (source === 'disk' && compared.level === 'ok')
    return [warn('roster', 'it comes from disk: the agent has not reached the apiserver since its start', 'see apiserver above')] // prettier-ignore
  return [compared]
}

/** Members that are not voted down but whose agents do not exchange votes with ours: keys, rosters or versions differ. */
export const exchangeFindings = ({
  agent: asked,
}: Pick<DoctorFacts, 'agent'>): readonly Finding[] => {
  if (!asked.ok || asked.value.nodes.length === 0) return []
  const others = asked.value.nodes.filter(({ isSelf }) => !isSelf)
  const silent = others.filter(
    ({ peer, verdict }) => verdict !== 'unhealthy' && peer !== null && peer.state !== 'ok',
  )
  if (silent.length === 0) return [ok('agreement', `${others.length} peers exchange votes with this agent`)] // prettier-ignore
  return [
    warn(
      'agreement',
      `no votes are exchanged with ${listed(silent.map(({ name, peer }) => `${name} (${peer?.trouble ?? peer?.state ?? ''})`))}`,
      'wrong-zone: labels or ConfigMaps differ; unknown-key, bad-signature: keys; unsigned, no-identity: --identity; wrong-version: finish the update; 503 not ready: that agent has no key or does not know its zone yet, so run doctor there',
    ),
  ]
}

/** Whether the zone is likely to be what the operator intended. */
export const zoneFindings = ({ agent: asked }: Pick<DoctorFacts, 'agent'>): readonly Finding[] => {
  if (!asked.ok) return []
  const { rule, trouble, members } = asked.value.zone
  if (asked.value.roster.source === 'none') return []
  if (trouble !== null)
    return [
      warn(
        'zone',
        trouble,
        'kubectl label node NODE superedgehealth/topology-zone=SITE for all nodes, then kubectl apply -k with components/zones',
      ),
    ]
  if (members < 3)
    return [warn('zone', `${rule}: ${members} members`, 'zones of three and more decide by themselves; one of two needs a witness')] // prettier-ignore
  return [ok('zone', `${rule}: ${members} members`)]
}

// SPDX-License-Identifier: Apache-2.0
import { listed } from '../core/text.js'
import { AGENT_ACCOUNT_NAME } from './doctor-rights.js'
import type { Asked, DoctorFacts, PeerProbe, Right } from './doctor-facts.js'

/** `warn`: it works now, or nobody could look. */
export type Level = 'ok' | 'warn' | 'fail'

/** One thing that was looked at. */
export interface Finding {
  readonly check: string
  readonly level: Level
  /** What was seen, in words. */
  readonly saw: string
  /** What to do; null where there is nothing to do. */
  readonly fix: string | null
}

const ok = (check: string, saw: string): Finding => ({ check, level: 'ok', saw, fix: null })
const warn = (check: string, saw: string, fix: string): Finding => ({ check, level: 'warn', saw, fix }) // prettier-ignore
const fail = (check: string, saw: string, fix: string): Finding => ({ check, level: 'fail', saw, fix }) // prettier-ignore

const LOOK = 'kubectl -n edge-system get pods -o wide; kubectl -n edge-system logs POD'

const agent = ({ agent: asked, url }: DoctorFacts): Finding => {
  if (!asked.ok)
    return fail('agent', asked.reason, `run this on the node, or give --agent; look: ${LOOK}`)
  const { version, zone, self, stages } = asked.value
  const failing = stages.filter(({ state }) => state === 'failing')
  if (failing.length > 0)
    return fail(
      'agent',
      failing.map(({ name, detail }) => `stage ${name} fails: ${detail}`).join('; '),
      `mend what the stage names; look: ${LOOK}`,
    )
  const name = zone.name === '' ? 'the whole cluster' : zone.name
  return ok('agent', `${version} answers at ${url} on ${self.name}: zone ${name}, ${zone.members} nodes`) // prettier-ignore
}

const port = ({ agent: asked, ports }: DoctorFacts): readonly Finding[] => {
  if (!asked.ok) return []
  const { address, trouble } = asked.value.peerListener
  if (trouble !== null)
    return [
      fail(
        'port',
        `peers cannot reach this agent: ${trouble}`,
        `free the port, or let the Node's first InternalIP and --node-address agree; who has it: ss -ltnp 'sport = :${ports[0]!}'`,
      ),
    ]
  return [ok('port', `peers are listened for at ${address}:${ports[0]!}`)]
}

const within = (text: string, port: number): boolean =>
  text.split(',').some(part => {
    const [from = NaN, to = from] = part.split('-').map(Number)
    return port >= from && port <= to
  })

const ephemeral = ({ ephemeral: asked, ports }: DoctorFacts): Finding => {
  const fix = `echo 'net.ipv4.ip_local_reserved_ports = ${ports.join(',')}' >/etc/sysctl.d/60-edge-health.conf && sysctl --system (put in front what is reserved already)`
  if (!asked.ok) return warn('reserved ports', asked.reason, fix)
  const { from, to, reserved } = asked.value
  const open = ports.filter(each => each >= from && each <= to && !within(reserved, each))
  return open.length === 0
    ? ok('reserved ports', `no outgoing connection can take ${ports.join(', ')}`)
    : warn('reserved ports', `an outgoing connection can take ${open.join(', ')}: the kernel chooses from ${from}-${to}`, fix) // prettier-ignore
}

const key = ({ agent: asked, namespace, keySecret }: DoctorFacts): readonly Finding[] => {
  if (!asked.ok) return []
  const { keys, zone, nodes } = asked.value
  const make = `kubectl -n ${namespace} create secret generic ${keySecret} --from-literal=primary="$(openssl rand -base64 32)"`
  if (keys.state === 'missing') return [fail('key', keys.trouble ?? 'there is no usable key', make)]
  if (keys.trouble !== null)
    return [fail('key', `the last good keys are used: ${keys.trouble}`, `mend Secret ${keySecret}`)]
  const others = nodes.filter(({ peer }) => peer !== null && peer.keySet !== null && peer.keySet !== keys.set) // prettier-ignore
  const state = `key set ${keys.set ?? 'unknown'} is shared by ${keys.sharedBy} of ${zone.members} members`
  if (others.length > 0)
    return [
      warn(
        'key',
        `${state}; another set: ${listed(others.map(({ name }) => name))}`,
        'wait until all have read the Secret, before the next step of a rotation',
      ),
    ]
  return [ok('key', state)]
}

const CLOCK_WARN_MS = 3_000
const CLOCK_FAIL_MS = 30_000

const api = ({ api: asked, agent: status }: DoctorFacts): readonly Finding[] => {
  const link = status.ok ? status.value.cloudLink : undefined
  if (!asked.ok)
    return [
      fail(
        'apiserver',
        `${asked.reason}${link === undefined ? '' : `; the agent says: cloud link ${link.state}`}`,
        'look at the route, the firewall and the credentials (--kubeconfig, --master-url)',
      ),
    ]
  const { aheadMs } = asked.value
  const reached = ok('apiserver', 'it answers')
  if (aheadMs === null) return [reached, warn('clock', 'the apiserver shows no time', 'look at it by hand: date -u')] // prettier-ignore
  const seconds = Math.round(Math.abs(aheadMs) / 100) / 10
  const saw = `this clock is ${seconds} s ${aheadMs < 0 ? 'behind' : 'ahead of'} the apiserver's`
  const fix =
    'let NTP (chrony, systemd-timesyncd) set the clock; a node that is ahead cannot be vouched for'
  if (Math.abs(aheadMs) > CLOCK_FAIL_MS) return [reached, fail('clock', saw, fix)]
  return [reached, Math.abs(aheadMs) > CLOCK_WARN_MS ? warn('clock', saw, fix) : ok('clock', saw)]
}

const rightText = ({ verb, resource, subresource, group, namespace, name }: Right): string =>
  `${verb} ${resource}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}${name === undefined ? '' : ` ${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`

const rights = ({ rights: asked, account, api: reached }: DoctorFacts): readonly Finding[] => {
  if (!reached.ok) return []
  const who = account.ok ? account.value : 'this account'
  const isAgent = account.ok && account.value.endsWith(AGENT_ACCOUNT_NAME)
  const whose =
    isAgent || !account.ok
      ? []
      : [
          warn('account', `asked as ${account.value}, which is not the agents' account`, 'run it in an agent’s Pod to see what that one may do'), // prettier-ignore
        ]
  const denied = asked.filter(({ allowed }) => allowed.ok && !allowed.value)
  const unasked = asked.find(({ allowed }) => !allowed.ok)
  if (denied.length > 0)
    return [
      ...whose,
      fail(
        'rbac',
        `${who} may not ${listed(denied.map(({ right }) => rightText(right)))}`,
        'kubectl apply -k deploy/base (agent-rbac.yaml)',
      ),
    ]
  if (unasked !== undefined && !unasked.allowed.ok)
    return [...whose, warn('rbac', `could not be asked: ${unasked.allowed.reason}`, 'kubectl auth can-i --list --as=system:serviceaccount:edge-system:edge-health-agent')] // prettier-ignore
  return [...whose, ok('rbac', `${who} may do all ${asked.length} things that agents do`)]
}

const policies = ({ agent: asked }: DoctorFacts): readonly Finding[] => {
  if (!asked.ok) return []
  const { state, reason } = asked.value.confinement
  const fix = 'Kubernetes 1.30 and newer: kubectl apply -k deploy/base (agent-policies.yaml)'
  if (state === 'yes') return [ok('policies', `they bite: ${reason}`)]
  if (state === 'no') return [warn('policies', reason, fix)]
  return [warn('policies', reason, 'the agent asks within its first minute, and again every few hours')] // prettier-ignore
}

const namesNotIn = (names: readonly string[], others: readonly string[]): readonly string[] =>
  names.filter(name => !others.includes(name))

const roster = ({ agent: asked, members }: DoctorFacts): readonly Finding[] => {
  if (!asked.ok) return []
  const { roster: own, nodes } = asked.value
  if (own.source === 'none')
    return [fail('roster', own.trouble ?? 'the zone is not known yet', 'see apiserver and rbac above')] // prettier-ignore
  if (own.trouble !== null) return [fail('roster', own.trouble, 'mend the object that is named')]
  if (!members.ok) return [warn('roster', `could not be compared with the Nodes: ${members.reason}`, 'see apiserver and rbac above')] // prettier-ignore
  const names = nodes.map(({ name }) => name)
  const missing = namesNotIn(members.value, names)
  const extra = namesNotIn(names, members.value)
  if (missing.length + extra.length > 0)
    return [
      fail(
        'roster',
        `the agent ${[...(missing.length > 0 ? [`does not know ${listed(missing)}`] : []), ...(extra.length > 0 ? [`counts ${listed(extra)}, which the Nodes do not name`] : [])].join(' and ')}`,
        'give doctor the options of the agent (--edge-selector); if it stays, restart the agent and look at its log',
      ),
    ]
  if (own.source === 'disk')
    return [warn('roster', 'it comes from disk: the apiserver was not reached since the start', 'see apiserver above')] // prettier-ignore
  return [ok('roster', `${names.length} members, as the Nodes and ConfigMaps say`)]
}

/** Members that are well by the votes and whose agents do not talk to ours: keys, rosters or versions differ. */
const exchange = ({ agent: asked }: DoctorFacts): readonly Finding[] => {
  if (!asked.ok) return []
  const others = asked.value.nodes.filter(({ isSelf }) => !isSelf)
  const silent = others.filter(
    ({ peer, verdict }) => verdict !== 'unhealthy' && peer !== null && peer.state !== 'ok',
  )
  if (silent.length === 0) return [ok('agreement', `${others.length} peers exchange votes with this agent`)] // prettier-ignore
  return [
    warn(
      'agreement',
      `no votes are exchanged with ${listed(silent.map(({ name, peer }) => `${name} (${peer?.trouble ?? peer?.state ?? ''})`))}`,
      'wrong-zone: labels or ConfigMaps differ; unknown-key, bad-signature: keys; unsigned, no-identity: --identity; wrong-version: finish the update',
    ),
  ]
}

const reasonOf = (asked: Asked<number>): string => (asked.ok ? '' : asked.reason)

const reach = ({ peers, agent: asked, ports, link }: DoctorFacts): readonly Finding[] => {
  const dead = asked.ok ? asked.value.nodes.filter(({ verdict }) => verdict === 'unhealthy') : []
  const isDead = ({ name }: PeerProbe): boolean => dead.some(node => node.name === name)
  const unreached = peers.filter(peer => !peer.short.ok && !isDead(peer))
  const holes = peers.filter(({ long }) => long === 'timeout')
  const mtu = link.ok ? `${link.value.name} has ${link.value.mtu}` : link.reason
  const findings: Finding[] = []
  if (unreached.length > 0)
    findings.push(
      fail(
        'peers',
        `no connection to ${listed(unreached.map(({ name, address, short }) => `${name} (${address}: ${reasonOf(short)})`))}`,
        `open ${ports[0]!}/TCP between the nodes of a zone`,
      ),
    )
  else if (peers.length > 0)
    findings.push(ok('peers', `${peers.length - peers.filter(isDead).length} of ${peers.length} answer at port ${ports[0]!}`)) // prettier-ignore
  if (holes.length > 0)
    findings.push(
      fail(
        'mtu',
        `short requests pass and long ones do not: ${listed(holes.map(({ name }) => name))}; ${mtu}`,
        'a link on the way takes smaller packets and its ICMP is dropped: lower the MTU of the interface, or clamp MSS',
      ),
    )
  else
    findings.push(link.ok ? ok('mtu', `${mtu}${peers.length > 0 ? ', and long requests pass' : ''}`) : warn('mtu', mtu, 'ip link')) // prettier-ignore
  return findings
}

const kubelet = ({ kubelet: asked, kubeletUrl, agent: status }: DoctorFacts): Finding => {
  if (asked.ok) return ok('kubelet', `healthz is well at ${kubeletUrl}`)
  const own = status.ok ? status.value.nodes.find(({ isSelf }) => isSelf) : undefined
  const fix = 'systemctl status kubelet; a kubelet with healthzPort 0 cannot be vouched for'
  const saw = `${kubeletUrl}: ${asked.reason}${own === undefined ? '' : `; the agent says: ${own.kubelet}`}`
  return own?.kubelet === 'bad' ? fail('kubelet', saw, fix) : warn('kubelet', saw, fix)
}

const zone = ({ agent: asked }: DoctorFacts): readonly Finding[] => {
  if (!asked.ok) return []
  const { rule, trouble, members } = asked.value.zone
  if (trouble !== null)
    return [
      warn(
        'zone',
        trouble,
        'kubectl label node NODE superedgehealth/topology-zone=SITE for all, then kubectl apply -k with components/zones',
      ),
    ]
  if (members < 3)
    return [warn('zone', `${rule}: ${members} members`, 'zones of three and more decide by themselves; one of two needs a witness')] // prettier-ignore
  return [ok('zone', `${rule}: ${members} members`)]
}

/** Everything that there is to say, in the order in which to mend it. */
export const diagnose = (facts: DoctorFacts): readonly Finding[] => [
  agent(facts),
  ...port(facts),
  ephemeral(facts),
  ...key(facts),
  ...api(facts),
  ...rights(facts),
  ...policies(facts),
  ...roster(facts),
  ...exchange(facts),
  ...reach(facts),
  kubelet(facts),
  ...zone(facts),
]

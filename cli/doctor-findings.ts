// SPDX-License-Identifier: Apache-2.0
import { listed } from '../core/text.js'
import { AGENT_ACCOUNT_NAME } from './doctor-rights.js'
import type { Asked, DoctorFacts, PeerProbe, Right } from './doctor-facts.js'
import { exchangeFindings, keyFindings, rosterFindings, zoneFindings } from './doctor-zone.js'
import { fail, ok, warn, type Finding } from './finding.js'

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
      `repair what the stage names; look: ${LOOK}`,
    )
  const name = zone.name === '' ? 'the whole cluster' : zone.name
  return ok('agent', `${version} answers at ${url} on ${self.name}: zone ${name}, ${zone.members} nodes`) // prettier-ignore
}

const port = ({ agent: asked, ports }: DoctorFacts): readonly Finding[] => {
  if (!asked.ok) return []
  const { peerListener, roster } = asked.value
  const { address, trouble } = peerListener
  // The listener's address is that of the agent's own Node.
  if (trouble !== null && roster.source === 'none')
    return [warn('port', trouble, 'it opens once the zone is known: see roster below')]
  if (trouble !== null)
    return [
      fail(
        'port',
        `peers cannot reach this agent: ${trouble}`,
        `free the port, or make --node-address the same as the Node's first InternalIP; to see who has the port: ss -ltnp 'sport = :${ports[0]!}'`,
      ),
    ]
  return [ok('port', `the agent listens for peers at ${address}:${ports[0]!}`)]
}

const disk = ({ agent: asked }: DoctorFacts): readonly Finding[] => {
  if (!asked.ok) return []
  const { path, trouble } = asked.value.disk
  if (trouble === null) return [ok('disk', `${path} keeps what a restart needs`)]
  return [
    fail(
      'disk',
      `${path} cannot keep ${trouble}; votes go on, but not after a boot without the cloud`,
      `df -h ${path}; ls -ld ${path}: make room; the folder must belong to the agent's user or root, and nobody else may write there`,
    ),
  ]
}

const metrics = ({ metrics: asked }: DoctorFacts): readonly Finding[] => {
  if (asked === undefined) return []
  const { url, port, answer } = asked
  if (answer.ok) return [ok('metrics', `served at ${url}`)]
  return [
    fail(
      'metrics',
      `${url}: ${answer.reason}`,
      `check that the agent runs with this --metrics-address; to see who has the port: ss -ltnp 'sport = :${port}'; an agent whose port is taken exits, and its log says so`,
    ),
  ]
}

const within = (text: string, port: number): boolean =>
  text.split(',').some(part => {
    const [from = NaN, to = from] = part.split('-').map(Number)
    return port >= from && port <= to
  })

const ephemeral = ({ ephemeral: asked, ports }: DoctorFacts): Finding => {
  const fix = `echo 'net.ipv4.ip_local_reserved_ports = ${ports.join(',')}' >/etc/sysctl.d/60-edge-health.conf && sysctl --system (put the ports that are already reserved in front)`
  if (!asked.ok) return warn('reserved ports', asked.reason, fix)
  const { from, to, reserved } = asked.value
  const open = ports.filter(each => each >= from && each <= to && !within(reserved, each))
  return open.length === 0
    ? ok('reserved ports', `no outgoing connection can take ${ports.join(', ')}`)
    : warn('reserved ports', `an outgoing connection can take ${open.join(', ')}: the kernel chooses from ${from}-${to}`, fix) // prettier-ignore
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
        'check the route, the firewall and the credentials (--kubeconfig, --master-url)',
      ),
    ]
  const { aheadMs } = asked.value
  const reached = ok('apiserver', 'it answers')
  if (aheadMs === null) return [reached, warn('clock', 'the apiserver shows no time', 'check the clock by hand: date -u')] // prettier-ignore
  const seconds = Math.round(Math.abs(aheadMs) / 100) / 10
  const saw = `this clock is ${seconds} s ${aheadMs < 0 ? 'behind' : 'ahead of'} the apiserver's`
  const fix =
    'let NTP (chrony, systemd-timesyncd) set the clock; a node that is ahead cannot be vouched for'
  if (Math.abs(aheadMs) > CLOCK_FAIL_MS) return [reached, fail('clock', saw, fix)]
  return [reached, Math.abs(aheadMs) > CLOCK_WARN_MS ? warn('clock', saw, fix) : ok('clock', saw)]
}

const rightText = ({ verb, resource, subresource, group, namespace, name }: Right): string =>
  `${verb} ${resource}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}${name === undefined ? '' : ` ${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`

const RBAC = 'kubectl apply -k deploy/base (agent-rbac.yaml)'

/** The finding when the apiserver does not say what the account may do. */
const unaskedRights = (reason: string, { members }: DoctorFacts): Finding => {
  if (!members.ok && members.status === 403) return fail('rbac', `not even this is allowed: ${members.reason}`, RBAC) // prettier-ignore
  if (!members.ok && members.status === 401) return fail('rbac', `the credentials are refused: ${members.reason}`, "check the Pod's token, or --kubeconfig") // prettier-ignore
  return warn('rbac', `could not be asked: ${reason}`, 'kubectl auth can-i --list --as=system:serviceaccount:edge-system:edge-health-agent') // prettier-ignore
}

const rights = (facts: DoctorFacts): readonly Finding[] => {
  const { rights: asked, account, api: reached } = facts
  if (!reached.ok) return []
  const who = account.ok ? account.value : 'this account'
  const isAgent = account.ok && account.value.endsWith(AGENT_ACCOUNT_NAME)
  const whose =
    isAgent || !account.ok
      ? []
      : [
          warn('account', `asked as ${account.value}, which is not the agents' account`, 'run it in an agent’s Pod to check the rights of the agents’ account'), // prettier-ignore
        ]
  const denied = asked.filter(({ allowed }) => allowed.ok && !allowed.value)
  const unasked = asked.find(({ allowed }) => !allowed.ok)
  if (denied.length > 0)
    return [
      ...whose,
      fail('rbac', `${who} may not ${listed(denied.map(({ right }) => rightText(right)))}`, RBAC),
    ]
  if (unasked !== undefined && !unasked.allowed.ok)
    return [...whose, unaskedRights(unasked.allowed.reason, facts)]
  return [...whose, ok('rbac', `${who} may do all ${asked.length} things that agents do`)]
}

const policies = ({ agent: asked }: DoctorFacts): readonly Finding[] => {
  if (!asked.ok) return []
  const { state, reason } = asked.value.confinement
  const fix = 'Kubernetes 1.30 and newer: kubectl apply -k deploy/base (agent-policies.yaml)'
  if (state === 'yes') return [ok('policies', `they are in force: ${reason}`)]
  if (state === 'no') return [warn('policies', reason, fix)]
  return [warn('policies', reason, 'the agent asks within its first minute, and again every few hours')] // prettier-ignore
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
        'a link on the way takes only smaller packets, and its ICMP replies are dropped: lower the MTU of the interface, or clamp the MSS',
      ),
    )
  else
    findings.push(link.ok ? ok('mtu', `${mtu}${peers.length > 0 ? ', and long requests pass' : ''}`) : warn('mtu', mtu, 'ip link')) // prettier-ignore
  return findings
}

const kubelet = ({ kubelet: asked, kubeletUrl, agent: status }: DoctorFacts): Finding => {
  if (asked.ok) return ok('kubelet', `healthy at ${kubeletUrl}`)
  const own = status.ok ? status.value.nodes.find(({ isSelf }) => isSelf) : undefined
  const fix = 'systemctl status kubelet; a kubelet with healthzPort 0 cannot be vouched for'
  const saw = `${kubeletUrl}: ${asked.reason}${own === undefined ? '' : `; the agent says: ${own.kubelet}`}`
  return own?.kubelet === 'bad' ? fail('kubelet', saw, fix) : warn('kubelet', saw, fix)
}

/** All findings, in the order in which to repair what they name. */
export const diagnose = (facts: DoctorFacts): readonly Finding[] => [
  agent(facts),
  ...port(facts),
  ...metrics(facts),
  ephemeral(facts),
  ...disk(facts),
  ...keyFindings(facts),
  ...api(facts),
  ...rights(facts),
  ...policies(facts),
  ...rosterFindings(facts),
  ...exchangeFindings(facts),
  ...reach(facts),
  kubelet(facts),
  ...zoneFindings(facts),
]

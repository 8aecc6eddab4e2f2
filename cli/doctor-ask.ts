// SPDX-License-Identifier: Apache-2.0
// The half of doctor that asks: each question ends with an answer or a reason, and none waits for long.
import { networkInterfaces } from 'node:os'
import * as v from 'valibot'
import { parseNodeView } from '../agent/adapters/node-view.js'
import type { AgentOptions } from '../agent/options/agent-options.js'
import { isOfZone, zoneRuleOf } from '../agent/stages/node-list/zone-rule.js'
import type { StatusView } from '../agent/http/status-view.js'
import { parseWith } from '../core/parse.js'
import { listPages } from '../grids/run/list-pages.js'
import type { ResourceClient } from '../kube/client/resource-client.js'
import type { ResourceType } from '../kube/client/resource.js'
import { fetchStatus } from './agent-client.js'
import type { CliContext } from './cli-context.js'
import { readZoneConfig } from './cluster-look.js'
import type { Asked, DoctorFacts, PeerProbe, Right } from './doctor-facts.js'
import { ask, hostOf, knockWell, probePeer } from './doctor-knock.js'
import { rightsOf } from './doctor-rights.js'
import { withClient } from './kube-options.js'

const MOST_PEERS = 64
const AT_ONCE = 8

/** Run a few at a time; the results keep their order. */
const each = async <A, B>(
  all: readonly A[],
  work: (one: A) => Promise<B>,
): Promise<readonly B[]> => {
  const results: B[] = []
  for (let at = 0; at < all.length; at += AT_ONCE)
    results.push(...(await Promise.all(all.slice(at, at + AT_ONCE).map(work))))
  return results
}

const reviewType = <S extends v.GenericSchema>(
  resource: string,
  schema: S,
): ResourceType<v.InferOutput<S>> => ({
  ...{
    group: resource === 'selfsubjectreviews' ? 'authentication.k8s.io' : 'authorization.k8s.io',
  },
  ...{ version: 'v1', resource, parse: raw => parseWith(schema, resource, raw) },
})

const ACCESS = reviewType(
  'selfsubjectaccessreviews',
  v.object({ status: v.object({ allowed: v.boolean() }) }),
)
const WHO = reviewType(
  'selfsubjectreviews',
  v.object({ status: v.object({ userInfo: v.object({ username: v.string() }) }) }),
)
const NODES = { group: '', version: 'v1', resource: 'nodes', parse: parseNodeView } as const

const mayI = async (
  client: ResourceClient,
  right: Right,
  signal: AbortSignal,
): Promise<boolean> => {
  const body = {
    ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview' },
    spec: { resourceAttributes: right },
  }
  return (await client.create(ACCESS, {}, { body }, signal)).status.allowed
}

const whoAmI = async (client: ResourceClient, signal: AbortSignal): Promise<string> => {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  return (await client.create(WHO, {}, { body }, signal)).status.userInfo.username
}

/** The members of the node's zone, according to what the apiserver has now. */
const membersNow = async (
  client: ResourceClient,
  name: string,
  { namespace, edgeSelector }: Pick<AgentOptions, 'namespace' | 'edgeSelector'>,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const config = await readZoneConfig(client, namespace, signal)
  const own = await client.get(NODES, { name }, signal)
  const rule = zoneRuleOf(own, config, edgeSelector)
  const names = new Set<string>([own.name])
  if (rule.kind === 'selector')
    for await (const page of listPages(client, NODES, { labelSelector: rule.selector }, signal))
      for (const node of page)
        // A node without an address cannot take part.
        if (isOfZone(rule, node) && node.internalIPs.length > 0) names.add(node.name)
  return [...names]
}

type ClusterFacts = Pick<DoctorFacts, 'api' | 'account' | 'rights' | 'members'>

const clusterFacts = async (
  options: AgentOptions,
  node: string,
  context: CliContext,
): Promise<ClusterFacts> => {
  const { signal, clock } = context
  const { namespace, keySecret } = options
  const flags = {
    ...(options.kubeconfig === undefined ? {} : { kubeconfig: options.kubeconfig }),
    ...(options.masterUrl === undefined ? {} : { masterUrl: options.masterUrl }),
  }
  const asked = await ask(() =>
    withClient(flags, context, async (client): Promise<ClusterFacts> => {
      const pinged = await ask(() => client.ping(signal))
      if (!pinged.ok) return unreached(pinged.reason)
      const facts = {
        account: await ask(() => whoAmI(client, signal)),
        rights: await each(rightsOf(namespace, keySecret), async right => ({
          right,
          allowed: await ask(() => mayI(client, right, signal)),
        })),
        members: await ask(() => membersNow(client, node, options, signal)),
      }
      // The time comes with answers to these requests; a ping does not give it.
      const time = client.serverTime()
      const aheadMs = time === undefined ? null : clock.wall() - time
      return { api: { ok: true, value: { aheadMs } }, ...facts }
    }),
  )
  return asked.ok ? asked.value : unreached(asked.reason)
}

const unreached = (reason: string): ClusterFacts => {
  const nothing = { ok: false, reason } as const
  return { api: nothing, account: nothing, rights: [], members: nothing }
}

const ephemeralOf = async (
  context: CliContext,
): Promise<Asked<{ from: number; to: number; reserved: string }>> =>
  // prettier-ignore
  ask(() => {
    const folder = '/proc/sys/net/ipv4'
    const [from = NaN, to = NaN] = context.readFile(`${folder}/ip_local_port_range`).trim().split(/\s+/).map(Number) // prettier-ignore
    const reserved = context.readFile(`${folder}/ip_local_reserved_ports`).trim()
    return Promise.resolve({ from, to, reserved })
  })

/** The interface with this address, and its MTU. */
const linkOf = (
  address: string,
  context: CliContext,
): Promise<Asked<{ name: string; mtu: number }>> =>
  // prettier-ignore
  ask(() => {
    const found = Object.entries(networkInterfaces()).find(([, addresses = []]) =>
      addresses.some(each => each.address === address),
    )
    if (found === undefined)
      throw new Error(
        address === ''
          ? "the node's address is not known"
          : `no interface of this machine has ${address}`,
      )
    const [name] = found
    return Promise.resolve({ name, mtu: Number(context.readFile(`/sys/class/net/${name}/mtu`).trim()) })
  })

const peersOf = (
  status: Asked<StatusView>,
  port: number,
  signal: AbortSignal,
): Promise<readonly PeerProbe[]> => {
  const nodes = status.ok ? status.value.nodes.filter(({ isSelf }) => !isSelf) : []
  return each(nodes.slice(0, MOST_PEERS), node => probePeer(node, port, signal))
}

/** Ask the listener of `--metrics-address`, if the options have one. */
const metricsFacts = async (
  { metricsAddress: at, metricsCertFile }: AgentOptions,
  signal: AbortSignal,
): Promise<DoctorFacts['metrics']> => {
  if (at === undefined) return undefined
  const scheme = metricsCertFile === undefined ? 'http' : 'https'
  const url = `${scheme}://${hostOf(at.host)}:${at.port}/metrics`
  return { url, port: at.port, answer: await ask(() => knockWell(url, signal, true)) }
}

/** Ask everything. */
export const askAll = async (
  { base, options }: { readonly base: string; readonly options: AgentOptions },
  context: CliContext,
): Promise<DoctorFacts> => {
  const { signal } = context
  const agent = await ask(() => fetchStatus(base, context))
  const self = agent.ok ? agent.value.self : { name: options.nodeName, address: '' }
  const { selfReportUrl, namespace, keySecret, port, localPort } = options
  const kubeletUrl = selfReportUrl
  const metrics = await metricsFacts(options, signal)
  return {
    url: base,
    agent,
    ...(await clusterFacts(options, self.name, context)),
    peers: await peersOf(agent, port, signal),
    metrics,
    ports: [...new Set([port, localPort, ...(metrics === undefined ? [] : [metrics.port])])],
    ephemeral: await ephemeralOf(context),
    link: await linkOf(self.address, context),
    kubelet: await ask(() => knockWell(kubeletUrl, signal)),
    ...{ kubeletUrl, namespace, keySecret },
  }
}

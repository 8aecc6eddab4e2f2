// SPDX-License-Identifier: Apache-2.0
// kube-proxy on the nodes of a lab, a Service for it to serve, and what became of the connections.
import type { Ended } from '../../../sandbox/child.js'
import { API_PORT } from '../../../testkit/control-plane/flags.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { kubeconfig } from '../../../testkit/control-plane/kubeconfig.js'
import type { LabNode } from '../lab-node.js'
import { CLOUD_HUB, watchAddress } from '../places.js'
import { wrapperArgs } from '../../../testkit/wrapper-process.js'
import type { Load } from './load.js'
import { type ProxyPlan, ProxyNode, type ProxySettings, WRAPPER_FILE } from './proxy-node.js'

const SERVICE_CIDR = '10.96.0.0/16'
const WRAPPER_PORT = 51006
const STATUS_PORT = 51007
const PROXY_FILE = '/run/kube-proxy-kubeconfig'

const OBJECTS = `
apiVersion: v1
kind: Service
metadata: { name: web, namespace: default }
spec:
  selector: { sells: web }
  ports: [{ name: http, port: 80, targetPort: 8080 }]
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: kube-proxy, namespace: kube-system }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: kube-proxy }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:node-proxier }
subjects: [{ kind: ServiceAccount, name: kube-proxy, namespace: kube-system }]
`

interface Tokens {
  readonly proxy: string
  readonly wrapper: string
}

export interface ProxyZoneParts {
  readonly nodes: readonly LabNode[]
  readonly plane: ControlPlane
  /** The folder with the programs. */
  readonly kubeProxy: string
  readonly script: string
  readonly onCrash: (ended: Ended, lastLines: readonly string[]) => void
}

/** A node without power; times are this process's `performance.now()`. */
export interface Death {
  readonly name: string
  readonly address: string
  readonly from: number
  until: number
}

/** Node → its kube-proxy's plan; undefined has only a shop. */
export type Plans = ReadonlyMap<string, ProxyPlan | undefined>

export class ProxyZone {
  readonly #parts: ProxyZoneParts
  #nodes: readonly ProxyNode[] = []
  #tokens: Tokens | undefined
  #load: { readonly end: AbortController; readonly done: Promise<void> } | undefined
  /** When what happened. */
  readonly marks = new Map<string, number>()
  readonly deaths: Death[] = []
  /** Nodes whose kube-proxy has an Event at the apiserver, as far as it was asked. */
  events: ReadonlySet<string> = new Set()

  constructor(parts: ProxyZoneParts) {
    this.#parts = parts
  }

  /** Those with a kube-proxy. */
  get proxied(): readonly ProxyNode[] {
    return this.#nodes.filter(({ plan }) => plan !== undefined)
  }

  of(name: string): ProxyNode {
    const found = this.#nodes.find(each => each.name === name)
    if (found === undefined) throw new Error(`no kube-proxy was planned for ${name}`)
    return found
  }

  mark(what: string): void {
    this.marks.set(what, performance.now())
  }

  /** From now on it has no power. */
  bury({ name, address }: LabNode): void {
    this.deaths.push({ name, address, from: performance.now(), until: Infinity })
  }

  raise({ name }: LabNode): void {
    for (const death of this.deaths)
      if (death.name === name) death.until = Math.min(death.until, performance.now())
  }

  /** Start all; the Pods of these nodes are the backends of the Service, which has a port `http`. */
  async open(plans: Plans, backends: readonly string[], service = 'web'): Promise<void> {
    await this.close()
    this.marks.clear()
    this.deaths.length = 0
    this.events = new Set()
    await this.#prepare()
    await this.#parts.plane.kubectl(['delete', 'events', '--all', '-n', 'default'])
    for (const name of backends) await this.offer(name)
    const ip = ['get', 'service', service, '-o', 'jsonpath={.spec.clusterIP}']
    const settings = this.#settings(service, await this.#parts.plane.kubectl(ip))
    this.#nodes = this.#parts.nodes
      .filter(({ name }) => plans.has(name))
      .map(node => new ProxyNode(node, plans.get(node.name), settings))
    await Promise.all(this.#nodes.map(each => each.start(this.#filesOf(each.plan))))
  }

  /** Make the Pod on a node a backend. */
  async offer(name: string): Promise<void> {
    await this.#parts.plane.kubectl(['label', 'pod', `shop-${name}`, 'sells=web', '--overwrite'])
  }

  /** Put a load on the apiserver, and leave it there. */
  async load(load: Load): Promise<void> {
    await this.endLoad()
    const end = new AbortController()
    this.#load = { end, done: load(this.#parts.plane.admin, end.signal).catch(() => undefined) }
  }

  async endLoad(): Promise<void> {
    this.#load?.end.abort()
    await this.#load?.done
    this.#load = undefined
    const kinds = ['services,endpointslices', '-l', 'load=yes', '--wait=false']
    await this.#parts.plane.kubectl(['delete', ...kinds])
  }

  /** Read the Events of kube-proxy at the apiserver. */
  async askEvents(): Promise<void> {
    const fields = '{.reportingComponent}/{.involvedObject.name}'
    const path = `jsonpath={range .items[*]}${fields}{"\\n"}{end}`
    const text = await this.#parts.plane.kubectl(['get', 'events', '-A', '-o', path])
    const lines = text.split('\n').filter(line => line.startsWith('kube-proxy/'))
    this.events = new Set(lines.map(line => line.slice('kube-proxy/'.length)))
  }

  async close(): Promise<void> {
    if (this.#load !== undefined) await this.endLoad()
    const ended = this.#nodes
    this.#nodes = []
    await Promise.all(ended.map(each => each.stop()))
    if (ended.length > 0)
      await this.#parts.plane.kubectl(['label', 'pod', '-l', 'sells=web', 'sells-'])
  }

  async #prepare(): Promise<void> {
    if (this.#tokens !== undefined) return
    const { plane } = this.#parts
    await plane.kubectl(['apply', '-f', '-'], OBJECTS)
    const token = async (namespace: string, account: string): Promise<string> =>
      (await plane.kubectl(['-n', namespace, 'create', 'token', account, '--duration=24h'])).trim()
    this.#tokens = {
      proxy: await token('kube-system', 'kube-proxy'),
      wrapper: await token('kube-system', 'kube-proxy'),
    }
  }

  #settings(service: string, address: string): ProxySettings {
    const { kubeProxy, script, onCrash, plane } = this.#parts
    return {
      ...{ kubeProxy, script, onCrash },
      serviceCidr: SERVICE_CIDR,
      service: `${address}:80`,
      servicePort: `default/${service}:http`,
      wrapperArgs: (node, { link }) =>
        wrapperArgs({
          ...(link === 'tls' ? { tlsDir: plane.dir } : {}),
          node: node.name,
          kubeconfig: WRAPPER_FILE,
          port: WRAPPER_PORT,
          statusPort: STATUS_PORT,
          stateDir: '/var/lib/edge-health-wrapper',
          localInfo: `http://${watchAddress(node.index)}:51005/localinfo`,
        }),
    }
  }

  #filesOf(plan: ProxyPlan | undefined): Readonly<Record<string, string>> {
    if (plan === undefined) return {}
    const { proxy: token, wrapper } = this.#tokens!
    const { ca, serving: certificate } = this.#parts.plane
    const cloud = `https://${CLOUD_HUB}:${API_PORT}`
    if (plan.asks === 'apiserver') return { [PROXY_FILE]: kubeconfig(cloud, ca, { token }) }
    const own = `127.0.0.1:${WRAPPER_PORT}`
    return {
      [WRAPPER_FILE]: kubeconfig(cloud, ca, { token: wrapper }),
      [PROXY_FILE]:
        plan.link === 'tls'
          ? kubeconfig(`https://${own}`, ca, { token, certificate })
          : kubeconfig(`http://${own}`, undefined, { token }),
    }
  }
}

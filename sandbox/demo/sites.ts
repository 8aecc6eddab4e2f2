// SPDX-License-Identifier: Apache-2.0
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import { type ApiClient, type Json, makeApiClient } from '../api-client.js'
import { Child, type Ended } from '../child.js'
import { kubeconfigText } from '../zone-objects.js'
import { LOCAL_PORT } from '../zone-node.js'
import type { Zone } from '../zone.js'

/** A site's Deployment. */
export interface SiteDeployment {
  readonly name: string
  readonly uid: string
  /** Whose nodes its pods run on, by its nodeSelector. */
  readonly site: string
}

/** The grids `web`, what was made of them, and what they lead to. */
export interface SitesView {
  readonly deployments: readonly SiteDeployment[]
  /** Annotation of the Service, '' without one. */
  readonly topologyKeys: string
  readonly isHeld: boolean
  /** Nodes whose endpoints kube-proxy on the first node is sent; undefined: no answer. */
  readonly sent: readonly string[] | undefined
}

/** What the scene of grids does to the zone. */
export interface Sites {
  /** Make the kinds of grids known, and start the controller and the first node's wrapper. */
  start(): Promise<void>
  /** A workload for each site, a Service for all of them, and the endpoints that its pods would have: one on each node. */
  create(): Promise<void>
  /** Say in which site a node is; undefined: in none. */
  move(name: string, site: string | undefined): Promise<void>
  /** End both programs. */
  stop(): Promise<void>
}

interface SitesSettings {
  readonly command: string
  readonly script: string
  readonly env: Readonly<Record<string, string>>
  readonly clock: Clock
  readonly onCrash: (ended: Ended) => void
}

const WRAPPER_STATUS_PORT = 51007
const CONTROLLER_PORT = 51008
const WRAPPER_PORT = 51009
/** On the first node's address. */
export const SITES_PORTS: readonly number[] = [WRAPPER_STATUS_PORT, CONTROLLER_PORT, WRAPPER_PORT]

/** How long a site without nodes keeps its workload; people wait for five minutes. */
export const GRACE_MS = 3_000
const SITE = 'site'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const GRIDS = '/apis/superedge.io/v1/namespaces/default'
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'

/** As deploy/components/grids/crds.yaml, without the validation, which the embedded API does not know. */
const definitionOf = (kind: string): Json => {
  const singular = kind.toLowerCase()
  const schema = {
    openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${singular}s.superedge.io` },
    spec: {
      group: 'superedge.io',
      names: { kind, singular, plural: `${singular}s`, listKind: `${kind}List` },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema, subresources: { status: {} } }],
    },
  }
}

const gridOf = (kind: string, template: Json): Json => ({
  ...{ apiVersion: 'superedge.io/v1', kind, metadata: { name: 'web', namespace: 'default' } },
  spec: { gridUniqKey: SITE, template },
})

const labels = { app: 'web' }
const DEPLOYMENT_GRID = gridOf('DeploymentGrid', {
  replicas: 2,
  selector: { matchLabels: labels },
  template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'nginx' }] } },
})
const SERVICE_GRID = gridOf('ServiceGrid', { selector: labels, ports: [{ port: 80 }] })

const sliceOf = (names: readonly string[]): Json => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'web-svc-1', labels: { 'kubernetes.io/service-name': 'web-svc' } },
  addressType: 'IPv4',
  ports: [{ port: 80, protocol: 'TCP' }],
  endpoints: names.map((nodeName, i) => ({
    addresses: [`10.0.0.${i + 1}`],
    nodeName,
    conditions: { ready: true },
  })),
})

const jsonAt = (object: Json | undefined, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, key) => (inner as Json | undefined)?.[key], object)

const siteOf = (deployment: Json): string => {
  const site = jsonAt(deployment, 'spec', 'template', 'spec', 'nodeSelector', SITE)
  return typeof site === 'string' ? site : ''
}

/** The controller of grids and a wrapper, beside a zone. */
export class ZoneSites implements Sites {
  readonly #zone: Zone
  readonly #settings: SitesSettings
  readonly #abort = new AbortController()
  readonly #admin: ApiClient
  #wrapper: { readonly client: ApiClient } | undefined
  #children: readonly Child[] = []

  constructor(zone: Zone, settings: SitesSettings) {
    this.#zone = zone
    this.#settings = settings
    this.#admin = this.#client(zone.api.url, 'sites')
  }

  async start(): Promise<void> {
    for (const kind of ['DeploymentGrid', 'StatefulSetGrid', 'ServiceGrid'])
      await this.#admin.post(DEFINITIONS, definitionOf(kind), this.#abort.signal)
    const { name, address } = this.#zone.nodes[0]!.identity
    const controller = await this.#child('grids', [
      `--status-address=${address}:${CONTROLLER_PORT}`,
      `--unit-grace=${GRACE_MS}ms`,
    ])
    const agent = `http://${address}:${LOCAL_PORT}/localinfo`
    const wrapper = await this.#child('wrapper', [
      `--node-name=${name}`,
      `--bind-address=${address}:${WRAPPER_PORT}`,
      `--status-address=${address}:${WRAPPER_STATUS_PORT}`,
      `--state-dir=${join(this.#zone.dir, 'wrapper')}`,
      `--service-autonomy-enhancement=enabled=true,interval=1,address=${agent}`,
    ])
    this.#children = [controller, wrapper]
    this.#wrapper = { client: this.#client(`http://${address}:${WRAPPER_PORT}`, 'kube-proxy') }
  }

  async create(): Promise<void> {
    const { signal } = this.#abort
    await this.#admin.post(`${GRIDS}/deploymentgrids`, DEPLOYMENT_GRID, signal)
    await this.#admin.post(`${GRIDS}/servicegrids`, SERVICE_GRID, signal)
    await this.#admin.post(SLICES, sliceOf(this.#zone.nodes.map(node => node.name)), signal)
  }

  async move(name: string, site: string | undefined): Promise<void> {
    const body = { metadata: { labels: { [SITE]: site ?? null } } }
    await this.#admin.patch(`/api/v1/nodes/${name}`, 'merge', body, this.#abort.signal)
  }

  async stop(): Promise<void> {
    const children = this.#children
    this.#children = []
    await Promise.all(children.map(child => child.stop(this.#settings.clock)))
    await this.#wrapper?.client.close()
    this.#wrapper = undefined
  }

  /** Undefined before the start and after the end. */
  async look(): Promise<SitesView | undefined> {
    if (this.#wrapper === undefined) return undefined
    const { store } = this.#zone.api
    const grid = store.get('deploymentgrids.superedge.io', 'default', 'web')
    const conditions = (jsonAt(grid, 'status', 'conditions') ?? []) as readonly Json[]
    const service = store.get('services', 'default', 'web-svc')
    return {
      deployments: store.list('deployments').map(object => ({
        name: object.metadata.name,
        uid: object.metadata.uid,
        site: siteOf(object),
      })),
      topologyKeys: service?.metadata.annotations?.['topologyKeys'] ?? '',
      isHeld: conditions.some(({ type, status }) => type === 'Held' && status === 'True'),
      sent: await this.#sent(this.#wrapper.client),
    }
  }

  lastLines(count: number): readonly string[] {
    return this.#children.flatMap(child => [
      `last lines of ${child.title}:`,
      ...child.lastLines(count).map(line => `  ${line}`),
    ])
  }

  /** Ends everything; nothing can be started after it. */
  async end(): Promise<void> {
    this.#abort.abort()
    await this.stop()
    await this.#admin.close()
  }

  async #sent(wrapper: ApiClient): Promise<readonly string[] | undefined> {
    try {
      const { items } = await wrapper.get(SLICES, this.#abort.signal)
      const slices = items as readonly { readonly endpoints?: readonly { nodeName: string }[] }[]
      return slices.flatMap(({ endpoints = [] }) => endpoints.map(({ nodeName }) => nodeName))
    } catch {
      // Not up yet, or ending: nobody is sent anything.
      return undefined
    }
  }

  #client(server: string, name: string): ApiClient {
    const token = this.#zone.api.addClient(name)
    return makeApiClient({ server, token }, this.#settings.clock, silentLog)
  }

  async #child(title: string, args: readonly string[]): Promise<Child> {
    const { command, script, env, onCrash } = this.#settings
    const { api, dir } = this.#zone
    const folder = join(dir, title)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const kubeconfig = join(folder, 'kubeconfig')
    const text = kubeconfigText(api.url, title, api.addClient(title))
    await writeFile(kubeconfig, text, { mode: 0o600 })
    const all = [script, title, `--kubeconfig=${kubeconfig}`, ...args]
    const child = new Child({ title, command, args: all, env })
    void child.ended.then(ended => {
      if (ended.isCrash) onCrash(ended)
    })
    return child
  }
}

// SPDX-License-Identifier: Apache-2.0
// SuperEdge's controller is stopped and ours takes over what it left: the children stay the very same objects.
import { execFile } from 'node:child_process'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import type { Json } from '../../../sandbox/api-client.js'
import { accountFile, accountPath } from './account.js'
import { Claims } from '../names/claims.js'

const THEIRS = 'application-grid-controller'
const KEY = 'zone1'
const UNITS = ['unit-1', 'unit-2'] as const
const NAMESPACE = '/namespaces/default'
const RUN_LIMIT_MS = 120_000

const CONTROLLERS = [
  'deployment-controller',
  'replicaset-controller',
  'statefulset-controller',
  'garbage-collector-controller',
]

/** Its mark in the Pod template: a hash of a Go value, which it writes into the grid's spec, too. */
const HASH = { 'superedge.io/template-hash-key': '1469598103934665603' }

const workload = (app: string, more: Json = {}): Json => ({
  replicas: 2,
  selector: { matchLabels: { app } },
  template: {
    metadata: { labels: { app, ...HASH } },
    spec: { containers: [{ name: app, image: `${app}:1` }] },
  },
  ...more,
})

interface Raw extends Json {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly generation?: number
    readonly resourceVersion: string
    readonly managedFields?: readonly { readonly manager: string; readonly operation: string }[]
  }
  readonly spec: {
    readonly clusterIP?: string
    readonly ports?: readonly { readonly port: number; readonly nodePort?: number }[]
  }
}

const labelsOf = (grid: string): Json => ({
  'superedge.io/grid-selector': grid,
  'superedge.io/grid-uniq-key': KEY,
})

const ownerOf = (kind: string, { metadata: { name, uid } }: Raw): Json => ({
  ...{ apiVersion: 'superedge.io/v1', kind, name, uid },
  ...{ controller: true, blockOwnerDeletion: true },
})

/** Grids and children, as SuperEdge's controller v0.9.0 leaves them. */
class Left {
  readonly #plane: ControlPlane
  readonly #signal: AbortSignal

  constructor(plane: ControlPlane, signal: AbortSignal) {
    this.#plane = plane
    this.#signal = signal
  }

  async make(): Promise<void> {
    await this.#nodes()
    const web = await this.#grid('DeploymentGrid', 'web', {
      template: workload('web'),
      defaultTemplateName: 'default',
    })
    const store = await this.#grid('StatefulSetGrid', 'store', {
      template: workload('store', { serviceName: 'store' }),
      defaultTemplateName: 'default',
    })
    for (const unit of UNITS) {
      await this.#workload('deployments', 'Deployment', { grid: web, of: 'DeploymentGrid', unit })
      await this.#workload('statefulsets', 'StatefulSet', {
        grid: store,
        of: 'StatefulSetGrid',
        unit,
      })
    }
    await this.#service()
  }

  async #nodes(): Promise<void> {
    for (const [i, unit] of [...UNITS, UNITS[1]].entries()) {
      const metadata = { name: `node-${i}`, labels: { [KEY]: unit } }
      await this.#plane.admin.post('/api/v1/nodes', { metadata }, this.#signal)
    }
  }

  /** What it sends is an update: it knows no server-side apply. */
  #post(path: string, body: Json): Promise<Raw> {
    const { admin } = this.#plane
    return admin.post(`${path}?fieldManager=${THEIRS}`, body, this.#signal) as Promise<Raw & Json>
  }

  async #grid(kind: string, name: string, spec: Json): Promise<Raw> {
    const path = `/apis/superedge.io/v1${NAMESPACE}/${kind.toLowerCase()}s`
    const body = { apiVersion: 'superedge.io/v1', kind, metadata: { name } }
    const made = { ...body, spec: { gridUniqKey: KEY, ...spec } }
    return (await this.#plane.admin.post(path, made, this.#signal)) as Raw
  }

  async #workload(
    resource: string,
    kind: string,
    { grid, of, unit }: { readonly grid: Raw; readonly of: string; readonly unit: string },
  ): Promise<void> {
    const { name } = grid.metadata
    const { template } = grid.spec as { template?: Json & { template: Json & { spec: Json } } }
    const pods = template!.template
    await this.#post(`/apis/apps/v1${NAMESPACE}/${resource}`, {
      ...{ apiVersion: 'apps/v1', kind },
      metadata: {
        name: `${name}-${unit}`,
        labels: labelsOf(name),
        ownerReferences: [ownerOf(of, grid)],
      },
      spec: {
        ...template,
        template: { ...pods, spec: { ...pods.spec, nodeSelector: { [KEY]: unit } } },
      },
    })
  }

  /** It is made un-owned, and adopted at the next look. */
  async #service(): Promise<void> {
    const template = {
      selector: { app: 'web' },
      type: 'NodePort',
      ports: [
        { name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 },
        { name: 'dns', port: 53, protocol: 'UDP', targetPort: 53 },
      ],
    }
    const grid = await this.#grid('ServiceGrid', 'web', { template })
    await this.#post(`/api/v1${NAMESPACE}/services`, {
      ...{ apiVersion: 'v1', kind: 'Service' },
      metadata: {
        name: 'web-svc',
        labels: labelsOf('web'),
        annotations: { topologyKeys: JSON.stringify([KEY]) },
      },
      spec: template,
    })
    const metadata = { ownerReferences: [ownerOf('ServiceGrid', grid)] }
    const path = `/api/v1${NAMESPACE}/services/web-svc?fieldManager=${THEIRS}`
    await this.#plane.admin.patch(path, 'strategic-merge', { metadata }, this.#signal)
    // Somebody's own, which must outlive the take-over.
    const annotate = ['annotate', 'service', 'web-svc', 'example.com/team=shop']
    await this.#plane.kubectl(annotate)
  }
}

const listAll = async (plane: ControlPlane, signal: AbortSignal, path: string) =>
  ((await plane.admin.get(path, signal)) as unknown as { items: readonly Raw[] }).items

const CHILDREN = [
  `/apis/apps/v1${NAMESPACE}/deployments`,
  `/apis/apps/v1${NAMESPACE}/statefulsets`,
  `/api/v1${NAMESPACE}/services?labelSelector=superedge.io/grid-selector`,
]

const show = ({ metadata, spec }: Raw): string => {
  const ports = (spec.ports ?? []).map(({ port, nodePort = 0 }) => `${port}:${nodePort}`).join()
  const { name, uid, generation = 0 } = metadata
  return [name, uid, `generation ${generation}`, spec.clusterIP ?? '', ports].join(' ').trim()
}

/** What a take-over must leave as it is. */
const stateOf = async (plane: ControlPlane, signal: AbortSignal) => {
  const children = await Promise.all(CHILDREN.map(path => listAll(plane, signal, path)))
  const sets = await listAll(plane, signal, `/apis/apps/v1${NAMESPACE}/replicasets`)
  return {
    children: children.flat().map(show).sort(),
    replicaSets: sets.map(({ metadata }) => `${metadata.name} ${metadata.uid}`).sort(),
  }
}

const versionsOf = async (plane: ControlPlane, signal: AbortSignal): Promise<readonly string[]> => {
  const children = await Promise.all(CHILDREN.map(path => listAll(plane, signal, path)))
  return children
    .flat()
    .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
    .sort()
}

const managersOf = async (plane: ControlPlane, signal: AbortSignal): Promise<readonly string[]> => {
  const children = await Promise.all(CHILDREN.map(path => listAll(plane, signal, path)))
  const entries = children.flat().flatMap(({ metadata }) => metadata.managedFields ?? [])
  return [...new Set(entries.map(({ manager, operation }) => `${manager} ${operation}`))].sort()
}

/** Run `edge-health grids` with these words; its exit code and what it said. */
const grids = (plane: ControlPlane, script: string, words: readonly string[]) =>
  new Promise<{ readonly code: number; readonly said: string }>(resolve => {
    const args = [script, 'grids', ...words, `--kubeconfig=${accountPath(plane)}`]
    const env = { PATH: '/usr/bin:/bin', HOME: plane.dir }
    execFile(process.execPath, args, { env, timeout: RUN_LIMIT_MS }, (error, out, err) => {
      const code = error === null ? 0 : Number(error.code ?? 1)
      resolve({ code, said: (out + err).slice(-3_000) })
    })
  })

/** @returns whether all of it holds. */
export const runTakeover = async (
  { plane, script }: { readonly plane: ControlPlane; readonly script: string },
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<boolean> => {
  const claims = new Claims(say)
  plane.runControllers(CONTROLLERS)
  await plane.kubectl(['create', 'namespace', 'edge-system'])
  await accountFile(plane)
  await plane.kubectl(['apply', '--server-side', '-f', 'deploy/components/grids/crds.yaml'])
  await plane.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'])
  await new Left(plane, signal).make()
  let sets: readonly Raw[] = []
  const look = async (): Promise<void> => {
    sets = await listAll(plane, signal, `/apis/apps/v1${NAMESPACE}/replicasets`)
  }
  for (let i = 0; i < 100 && sets.length < UNITS.length; i++) {
    await look()
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  claims.equal('SuperEdge left a ReplicaSet for each unit', sets.length, UNITS.length)
  const before = await stateOf(plane, signal)
  say(`before: ${before.children.join('; ')}`)
  const theirs = await managersOf(plane, signal)
  claims.holds('the children are its own by managedFields', theirs.includes(`${THEIRS} Update`))

  const first = await grids(plane, script, ['--once'])
  claims.equal('edge-health grids --once brings every grid to what it wants', first.code, 0)
  if (first.code !== 0) say(first.said)
  // A Deployment that rolls out does so within a moment.
  await new Promise(resolve => setTimeout(resolve, 3_000))
  const after = await stateOf(plane, signal)
  say(`after:  ${after.children.join('; ')}`)
  claims.equal(
    'uid, generation, clusterIP and nodePorts are the same',
    after.children,
    before.children,
  )
  claims.equal('the ReplicaSets are the same, and no other', after.replicaSets, before.replicaSets)
  const ours = await managersOf(plane, signal)
  claims.holds(
    'its entry in managedFields is gone',
    !ours.includes(`${THEIRS} Update`),
    ours.join(),
  )
  claims.holds('ours is there', ours.includes('edge-health-grids Apply'), ours.join())
  const annotation = '{.metadata.annotations.example\\.com/team}'
  const team = await plane.kubectl(['get', 'service', 'web-svc', '-o', `jsonpath=${annotation}`])
  claims.equal('an annotation of somebody else’s is kept', team, 'shop')

  const versions = await versionsOf(plane, signal)
  const second = await grids(plane, script, ['--once'])
  claims.equal('a second run finds nothing to do', second.code, 0)
  claims.equal('and writes no child', await versionsOf(plane, signal), versions)

  await plane.kubectl([
    'patch',
    'servicegrid',
    'web',
    '--type=json',
    '-p',
    JSON.stringify([{ op: 'remove', path: '/spec/template/ports/1' }]),
  ])
  const third = await grids(plane, script, ['--once'])
  claims.equal('a port that the grid gives up', third.code, 0)
  const ports = await plane.kubectl([
    'get',
    'service',
    'web-svc',
    '-o',
    'jsonpath={.spec.ports[*].name}',
  ])
  claims.equal('goes from the Service', ports, 'http')
  say(`${claims.passed} passed, ${claims.failed} failed`)
  return claims.failed === 0
}

// SPDX-License-Identifier: Apache-2.0
// What the scenes of the client are made of.
import { systemClock, sleep } from '../../core/clock.js'
import { InvalidInputError, KubeStatusError } from '../../core/errors.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { ResourceType } from '../../kube/client/resource.js'
import { TableRow } from '../../kube/client/table-codec.js'

/** What a scene is played on. */
interface Stage {
  readonly client: ResourceClient
  readonly id: string
  readonly forget: () => Promise<void>
}

/** A claim, what is done, and what must come of it. */
export type Scene = readonly [name: string, play: (stage: Stage) => Promise<unknown>, want: unknown]

export interface Raw {
  readonly metadata: {
    readonly uid: string
    readonly resourceVersion: string
    readonly generation?: number
    readonly managedFields?: readonly { readonly manager: string }[]
  }
  readonly spec?: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
  readonly data?: Readonly<Record<string, string>>
}

const whole = (group: string, version: string, resource: string): ResourceType<Raw> => ({
  ...{ group, version, resource },
  parse: raw => raw as Raw,
})

/** A row of `kubectl get nodes -o wide`. */
export interface Shown {
  readonly name: string
  readonly address: string
}

export const NODES = whole('', 'v1', 'nodes')
export const NODE = { apiVersion: 'v1', kind: 'Node' } as const
export const ROWS: ResourceType<Shown> = {
  ...NODES,
  isTable: true,
  parse: raw => {
    if (!(raw instanceof TableRow)) throw new InvalidInputError('row', 'must be one', typeof raw)
    return { name: raw.name, address: raw.text('Internal-IP') }
  },
}
export const MAPS = whole('', 'v1', 'configmaps')
export const DEPLOYMENTS = whole('apps', 'v1', 'deployments')
const DEFINITIONS = whole('apiextensions.k8s.io', 'v1', 'customresourcedefinitions')
export const namespace = 'default'
export const never = new AbortController().signal
const PATIENCE_MS = 10_000

export const map = (name: string, data: object | undefined): Record<string, unknown> => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
})

/** How a call is refused: status, reason, and the fields that are to blame. */
export const refusalOf = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    await call
    return 'not refused'
  } catch (error) {
    if (!(error instanceof KubeStatusError)) throw error
    const fields = error.details?.causes?.map(({ field }) => field) ?? []
    return [error.status, error.reason, ...fields]
  }
}

export const until = async (isTrue: () => boolean | Promise<boolean>): Promise<void> => {
  const deadline = systemClock.now() + PATIENCE_MS
  while (!(await isTrue())) {
    if (systemClock.now() > deadline) throw new Error('waited in vain')
    await sleep(systemClock, 50, never)
  }
}

/** Define a kind `Gadget` with status and scale, and wait until it is served. */
export const define = async ({ client, id }: Stage): Promise<ResourceType<Raw>> => {
  const group = `${id}.example.com`
  const any = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object', properties: { spec: any, status: any } } },
    subresources: {
      status: {},
      scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
    },
  }
  const body = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `gadgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' },
      versions: [version],
    },
  }
  await client.create(DEFINITIONS, {}, { body }, never)
  const gadgets = whole(group, 'v1', 'gadgets')
  const isServed = () =>
    client.list(gadgets, { namespace }, never).then(
      () => true,
      () => false,
    )
  await until(isServed)
  return gadgets
}

export const gadget = (type: ResourceType<Raw>, spec: object, status?: object) => ({
  apiVersion: `${type.group}/v1`,
  kind: 'Gadget',
  metadata: { name: 'g' },
  spec,
  ...(status === undefined ? {} : { status }),
})

export const deployment = (name: string, replicas: number): Record<string, unknown> => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'web', image: 'web:1' }] },
    },
  },
})

// SPDX-License-Identifier: Apache-2.0
import { OWN_PREFIX } from '../../core/marks.js'
import { ownerReference } from '../../core/owner.js'
import type { Naming } from './name.js'
import {
  childKindOf,
  GRID_API,
  type ChildKind,
  type Grid,
  type Json,
  type ServiceGrid,
  type UnitSource,
  type WorkloadGrid,
} from './grid.js'
import { templateOf, type UnitTemplate } from './template.js'
import { nodeLabelOf } from './units.js'
import {
  GRID_LABEL,
  HOSTNAME_LABEL,
  KEY_LABEL,
  REPLICAS_ANNOTATION,
  TOPOLOGY_ANNOTATION,
  UNIT_LABEL,
} from './words.js'

/** What a grid wants to exist. */
export interface Child {
  readonly kind: ChildKind
  readonly name: string
  /** Undefined for the Service of a ServiceGrid: it is every unit's. */
  readonly unit: string | undefined
  /** What is applied: it says all that is ours, and nothing else. */
  readonly object: Json
}

/** Why a unit, or a ServiceGrid (`unit` undefined), has no child of its own. */
export interface RenderFailure {
  readonly unit: string | undefined
  readonly reason: 'TemplateMissing' | 'OverrideFailed' | 'NameTaken' | 'TooManyUnits' | 'TooLarge'
  readonly message: string
}

export interface Rendering {
  readonly children: readonly Child[]
  readonly failures: readonly RenderFailure[]
}

/** What stands behind the grid's name in the name of its Service. */
export const SERVICE_SUFFIX = 'svc'
/**
 * What the overrides of one grid may make of its template in all units together, in bytes of JSON: 32 KiB for each of a
 * thousand. A short patch that says `{{unit}}` often would else fill the controller's memory.
 */
const MAX_OWN_BYTES = 32 * 1_048_576
/** As many keys as the annotation may list. */
const MAX_TOPOLOGY_KEYS = 16

const API_OF: Readonly<Record<ChildKind, string>> = {
  Service: 'v1',
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
}

/** What the grid says to us, and what kubectl says to itself, is not said to its children. */
const isCopied = (key: string): boolean =>
  !key.startsWith(OWN_PREFIX) && !/^([^/]*\.)?kubectl\.kubernetes\.io\//.test(key)

const copied = (record: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(record).filter(([key]) => isCopied(key)))

/**
 * A key with a domain is no label's value, so there an annotation says it. It does not do so always: an annotation more
 * would count as a new generation of a Deployment that is taken over.
 */
const keyLabel = (source: UnitSource): Readonly<Record<string, string>> =>
  source.by === 'label-value' && !source.key.includes('/') ? { [KEY_LABEL]: source.key } : {}
const keyAnnotation = (source: UnitSource): Readonly<Record<string, string>> =>
  source.by === 'label-value' && source.key.includes('/') ? { [KEY_LABEL]: source.key } : {}

const owners = ({ kind, name, uid }: Grid): Json =>
  uid === undefined
    ? {}
    : { ownerReferences: [ownerReference({ apiVersion: GRID_API, kind, name, uid })] }

/** None is nothing to own. */
const annotationsOf = (annotations: Json): Json =>
  Object.keys(annotations).length === 0 ? {} : { annotations }

interface Draft {
  readonly kind: ChildKind
  readonly name: string
  readonly unit: string | undefined
  readonly spec: Json
  readonly annotations?: Readonly<Record<string, string>>
}

const childOf = (grid: Grid, { kind, name, unit, spec, annotations }: Draft): Child => ({
  kind,
  name,
  unit,
  object: {
    apiVersion: API_OF[kind],
    kind,
    metadata: {
      name,
      namespace: grid.namespace,
      labels: {
        ...copied(grid.labels),
        [GRID_LABEL]: grid.name,
        ...keyLabel(grid.source),
        ...(unit === undefined ? {} : { [UNIT_LABEL]: unit }),
      },
      ...annotationsOf({
        ...copied(grid.annotations),
        ...keyAnnotation(grid.source),
        ...annotations,
      }),
      ...owners(grid),
    },
    spec,
  },
})

/**
 * The keys that the wrapper reads: a node's endpoints are those of nodes that share a value of one of them. None would ask
 * for no topology, so a grid without units asks for what is on the node itself.
 */
const topologyKeys = (source: UnitSource, units: readonly string[]): readonly string[] => {
  if (source.by === 'label-value') return [source.key]
  return units.length === 0 ? [HOSTNAME_LABEL] : units
}

const renderService = (grid: ServiceGrid, units: readonly string[], nameOf: NameOf): Rendering => {
  const naming = nameOf('Service', SERVICE_SUFFIX)
  const keys = topologyKeys(grid.source, units)
  const refuse = (reason: RenderFailure['reason'], message: string): Rendering => ({
    children: [],
    failures: [{ unit: undefined, reason, message }],
  })
  if (!naming.ok) return refuse('NameTaken', naming.trouble)
  if (keys.length > MAX_TOPOLOGY_KEYS)
    return refuse(
      'TooManyUnits',
      `a Service can name at most ${MAX_TOPOLOGY_KEYS} NodeUnits, got ${keys.length}; name fewer in spec.nodeUnits.names, or label nodes with a NodeGroup and use gridUniqKey`,
    )
  const { template, trafficDistribution } = grid
  const spec = {
    ...template,
    ...(trafficDistribution === undefined ? {} : { trafficDistribution }),
  }
  const annotations = { [TOPOLOGY_ANNOTATION]: JSON.stringify(keys) }
  const draft = { kind: 'Service', name: naming.name, unit: undefined, spec, annotations } as const
  return { children: [childOf(grid, draft)], failures: [] }
}

interface PodTemplate extends Json {
  readonly metadata?: Json & { readonly labels?: Json }
  readonly spec: Json & { readonly nodeSelector?: Json }
}

interface WorkloadSpec extends Json {
  readonly replicas?: number
  readonly selector: Json & { readonly matchLabels?: Json }
  readonly template: PodTemplate
}

/** The template with the unit's nodes; what it selects itself stays, but it cannot leave the unit. */
const inUnit = (grid: WorkloadGrid, template: WorkloadSpec, unit: string): WorkloadSpec => {
  const [key, value] = nodeLabelOf(grid.source, unit)
  const pod = template.template
  const nodeSelector = { ...pod.spec.nodeSelector, [key]: value }
  const { replicas = 1, ...rest } = template
  return {
    ...rest,
    ...(grid.annotations[REPLICAS_ANNOTATION] === 'unmanaged' ? {} : { replicas }),
    template: { ...pod, spec: { ...pod.spec, nodeSelector } },
  }
}

const withPodLabel = (spec: WorkloadSpec, unit: string): WorkloadSpec => {
  const { metadata = {} } = spec.template
  const labels = { ...metadata.labels, [UNIT_LABEL]: unit }
  return { ...spec, template: { ...spec.template, metadata: { ...metadata, labels } } }
}

/** The Service by which the pods of one unit find each other: each has a name in DNS, ready or not. */
const headlessSpec = ({ selector }: WorkloadSpec, unit: string): Json => ({
  clusterIP: 'None',
  publishNotReadyAddresses: true,
  selector: { ...selector.matchLabels, [UNIT_LABEL]: unit },
})

const renderUnit = (
  grid: WorkloadGrid,
  unit: string,
  chosen: UnitTemplate,
  nameOf: NameOf,
): Rendering => {
  const refuse = (reason: RenderFailure['reason'], message: string): Rendering => ({
    children: [],
    failures: [{ unit, reason, message }],
  })
  if (!chosen.ok) return refuse(chosen.reason, chosen.message)
  const kind = childKindOf[grid.kind]
  const naming = nameOf(kind, unit)
  if (!naming.ok) return refuse('NameTaken', naming.trouble)
  const spec = inUnit(grid, chosen.template as WorkloadSpec, unit)
  if (!grid.hasHeadlessServices)
    return { children: [childOf(grid, { kind, name: naming.name, unit, spec })], failures: [] }
  const service = nameOf('Service', unit)
  if (!service.ok) return refuse('NameTaken', service.trouble)
  const stateful = { ...withPodLabel(spec, unit), serviceName: service.name }
  return {
    children: [
      childOf(grid, { kind: 'Service', name: service.name, unit, spec: headlessSpec(spec, unit) }),
      childOf(grid, { kind, name: naming.name, unit, spec: stateful }),
    ],
    failures: [],
  }
}

/** Nothing of such a grid is written: which units come first is chance. */
const tooLarge = (units: readonly string[]): Rendering => ({
  children: [],
  failures: units.map(unit => ({
    ...{ unit, reason: 'TooLarge' },
    message: `spec.overrides may make templates of ${MAX_OWN_BYTES} bytes in all units together, and make more`,
  })),
})

/** The name of a child of this grid, by its kind and what stands behind the grid's name. */
export type NameOf = (kind: ChildKind, suffix: string) => Naming

/**
 * The objects that a grid wants in these units. Arguments are not changed, but the children share parts of them: they must not
 * be changed afterwards.
 */
export const renderGrid = (grid: Grid, units: readonly string[], nameOf: NameOf): Rendering => {
  if (grid.kind === 'ServiceGrid') return renderService(grid, units, nameOf)
  const parts: Rendering[] = []
  let ownBytes = 0
  for (const unit of units) {
    const chosen = templateOf(grid, unit)
    if (chosen.ok) ownBytes += chosen.ownBytes
    if (ownBytes > MAX_OWN_BYTES) return tooLarge(units)
    parts.push(renderUnit(grid, unit, chosen, nameOf))
  }
  return {
    children: parts.flatMap(({ children }) => children),
    failures: parts.flatMap(({ failures }) => failures),
  }
}

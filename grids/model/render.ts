// SPDX-License-Identifier: Apache-2.0
import { asText, childOf, type Child } from './child.js'
import type { Naming } from './name.js'
import {
  childKindOf,
  type ChildKind,
  type Grid,
  type Json,
  type ServiceGrid,
  type UnitSource,
  type WorkloadGrid,
} from './grid.js'
import { templateOf, type UnitTemplate } from './template.js'
import { nodeLabelOf } from './units.js'
import { HOSTNAME_LABEL, REPLICAS_ANNOTATION, TOPOLOGY_ANNOTATION, UNIT_LABEL } from './marks.js'

/** Why a unit, or a ServiceGrid (`unit` undefined), cannot have its child. */
export interface RenderFailure {
  readonly unit: string | undefined
  readonly reason: 'TemplateMissing' | 'OverrideFailed' | 'NameTaken' | 'TooManyUnits' | 'TooLarge'
  readonly message: string
}

export interface Rendering {
  readonly children: readonly Child[]
  readonly failures: readonly RenderFailure[]
}

/** Follows the grid's name in the name of its Service. */
export const SERVICE_SUFFIX = 'svc'
/**
 * Total size of what overrides make of a grid's template in all units, in bytes of JSON: 32 KiB for each of a thousand
 * units. Otherwise a short patch that repeats `{{unit}}` could exhaust the controller's memory.
 */
const MAX_OWN_BYTES = 32 * 1_048_576
/**
 * Work (`jsonWork`) that overrides may be in all units together: three seconds at most. What they come to may be small, and
 * making it still keep the controller from all other grids. 30 KiB for each of a thousand units take less than half.
 */
const MAX_WORK = 512 * 1_048_576
/** The largest number of keys that the annotation may have. */
const MAX_TOPOLOGY_KEYS = 16

/**
 * The wrapper's topology keys: a node uses endpoints on nodes that share its value of one of them. No keys would mean no
 * topology, so a grid without units gets the host name as its key.
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

/** The template restricted to the unit's nodes. Its own node selector stays but cannot lead out of the unit. */
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

/** The Service through which the pods of one unit find each other: each has a DNS name, ready or not. */
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
  const keep = (child: Child): Child => (chosen.ownBytes === 0 ? child : asText(child))
  const { name } = naming
  if (!grid.hasHeadlessServices)
    return { children: [keep(childOf(grid, { kind, name, unit, spec }))], failures: [] }
  const service = nameOf('Service', unit)
  if (!service.ok) return refuse('NameTaken', service.trouble)
  const stateful = { ...withPodLabel(spec, unit), serviceName: service.name }
  return {
    children: [
      childOf(grid, { kind: 'Service', name: service.name, unit, spec: headlessSpec(spec, unit) }),
      keep(childOf(grid, { kind, name, unit, spec: stateful })),
    ],
    failures: [],
  }
}

/** Nothing of such a grid is written, since which units fit would be arbitrary. */
const tooLarge = (units: readonly string[], message: string): Rendering => ({
  children: [],
  failures: units.map(unit => ({ unit, reason: 'TooLarge', message })),
})

/** The name of a child of this grid, by its kind and what follows the grid's name. */
export type NameOf = (kind: ChildKind, suffix: string) => Naming

/**
 * The objects that a grid wants in these units. They share parts with the arguments, which must not be changed afterwards.
 */
export const renderGrid = (grid: Grid, units: readonly string[], nameOf: NameOf): Rendering => {
  if (grid.kind === 'ServiceGrid') return renderService(grid, units, nameOf)
  const parts: Rendering[] = []
  let ownBytes = 0
  let work = 0
  for (const unit of units) {
    const chosen = templateOf(grid, unit, MAX_WORK - work)
    if (chosen.ok) ownBytes += chosen.ownBytes
    work += chosen.work
    if (ownBytes > MAX_OWN_BYTES)
      return tooLarge(
        units,
        `templates made by spec.overrides must have at most ${MAX_OWN_BYTES} bytes in all units together, and have more`,
      )
    if (work > MAX_WORK)
      return tooLarge(
        units,
        `spec.overrides must take at most ${MAX_WORK} steps of work in all units together, and take more`,
      )
    parts.push(renderUnit(grid, unit, chosen, nameOf))
  }
  return {
    children: parts.flatMap(({ children }) => children),
    failures: parts.flatMap(({ failures }) => failures),
  }
}

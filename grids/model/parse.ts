// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { InvalidInputError, show } from '../../core/errors.js'
import { freeze, isMap, type JsonMap } from '../../core/json.js'
import { texts } from '../../core/map-schema.js'
import { parseWith } from '../../core/parse.js'
import {
  GRID_API,
  type Grid,
  type GridKind,
  type ServiceGrid,
  type UnitSource,
  type WorkloadGrid,
} from './grid.js'
import { withoutNulls } from './nulls.js'
import { SERVICE_FIELDS, serviceGrid, WORKLOAD_FIELDS, workloadGrid } from './schema.js'
import { ZONE_LABEL, HOSTNAME_LABEL } from './marks.js'

/** A Node, as far as units depend on it. */
export interface UnitNode {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

const KINDS: ReadonlySet<unknown> = new Set<GridKind>([
  'ServiceGrid',
  'DeploymentGrid',
  'StatefulSetGrid',
])

/** Whether this is a grid of a kind and version that is known here. */
export const isGrid = (raw: unknown): boolean =>
  isMap(raw) && raw['apiVersion'] === GRID_API && KINDS.has(raw['kind'])

const textOf = (value: unknown, otherwise: string): string =>
  typeof value === 'string' && value !== '' ? value : otherwise

/** An unparsed object's name in errors: `DeploymentGrid default/web`. */
export const objectText = (raw: unknown): string => {
  const object: JsonMap = isMap(raw) ? raw : {}
  const { name, namespace }: JsonMap = isMap(object['metadata']) ? object['metadata'] : {}
  const kind = textOf(object['kind'], 'object without a kind')
  if (kind === 'Node') return `${kind} ${textOf(name, 'without a name')}`
  return `${kind} ${textOf(namespace, 'default')}/${textOf(name, '(without a name)')}`
}

/** An unknown field is probably a typing error and would have no effect, so it is refused. */
const refuseUnknown = (thing: string, spec: unknown, known: readonly string[]): void => {
  for (const key of isMap(spec) ? Object.keys(spec) : [])
    if (!known.includes(key))
      throw new InvalidInputError(
        `${thing}: spec`,
        `must have no fields but ${known.join(', ')}`,
        key,
      )
}

interface SourceFields {
  readonly gridUniqKey?: string | undefined
  readonly nodeUnits?: { readonly names?: readonly string[] | undefined } | undefined
}

const sourceOf = (thing: string, { gridUniqKey, nodeUnits }: SourceFields): UnitSource => {
  if ((gridUniqKey === undefined) === (nodeUnits === undefined))
    throw new InvalidInputError(
      `${thing}: spec`,
      'must have gridUniqKey or nodeUnits, and not both',
      {
        gridUniqKey,
        nodeUnits,
      },
    )
  return gridUniqKey === undefined
    ? { by: 'node-unit', names: nodeUnits?.names }
    : { by: 'label-value', key: gridUniqKey }
}

/** The label keys for which Kubernetes has topology hints. */
const DISTRIBUTION_KEYS: Readonly<Record<string, string>> = {
  PreferSameZone: ZONE_LABEL,
  PreferClose: ZONE_LABEL,
  PreferSameNode: HOSTNAME_LABEL,
}

const checkDistribution = (
  thing: string,
  grid: Pick<ServiceGrid, 'source' | 'template' | 'trafficDistribution'>,
): void => {
  const { source, trafficDistribution, template } = grid
  if (trafficDistribution === undefined) return
  const field = `${thing}: spec.trafficDistribution`
  const key = DISTRIBUTION_KEYS[trafficDistribution]!
  if (source.by !== 'label-value' || source.key !== key)
    throw new InvalidInputError(field, `must stand with gridUniqKey ${key}`, trafficDistribution)
  const { trafficDistribution: other = trafficDistribution } = template
  if (other !== trafficDistribution)
    throw new InvalidInputError(
      field,
      `must not contradict the template's ${show(other)}`,
      trafficDistribution,
    )
}

const entries = <T>(record: Readonly<Record<string, T>>): ReadonlyMap<string, T> =>
  new Map(Object.entries(freeze(record)))

const baseOf = (meta: v.InferOutput<typeof serviceGrid>['metadata']) => ({
  namespace: meta.namespace,
  name: meta.name,
  uid: meta.uid,
  generation: meta.generation,
  createdAt: meta.creationTimestamp,
  isDeleting: meta.deletionTimestamp !== undefined,
  labels: meta.labels,
  annotations: meta.annotations,
})

const readServiceGrid = (thing: string, raw: JsonMap): ServiceGrid => {
  refuseUnknown(thing, raw['spec'], SERVICE_FIELDS)
  const { metadata, spec } = parseWith(serviceGrid, thing, raw)
  const { template, trafficDistribution } = spec
  const grid = { template, trafficDistribution, source: sourceOf(thing, spec) }
  checkDistribution(thing, grid)
  return { ...baseOf(metadata), kind: 'ServiceGrid', ...grid }
}

const readWorkloadGrid = (
  thing: string,
  raw: JsonMap,
  kind: WorkloadGrid['kind'],
): WorkloadGrid => {
  refuseUnknown(thing, raw['spec'], WORKLOAD_FIELDS)
  const { metadata, spec } = parseWith(workloadGrid, thing, raw)
  if (spec.headlessService && kind !== 'StatefulSetGrid')
    throw new InvalidInputError(
      `${thing}: spec.headlessService`,
      'must stand in a StatefulSetGrid',
      true,
    )
  return {
    ...baseOf(metadata),
    kind,
    source: sourceOf(thing, spec),
    template: spec.template,
    templatePool: entries(spec.templatePool),
    templates: entries(spec.templates),
    defaultTemplateName: spec.defaultTemplateName === '' ? 'default' : spec.defaultTemplateName,
    overrides: spec.overrides,
    hasHeadlessServices: spec.headlessService,
  }
}

/**
 * Parse a grid from the API or a file. The result is deeply frozen and shares nothing with `raw`.
 * @throws InvalidInputError that names the grid, the rule and the value
 */
export const parseGrid = (raw: unknown): Grid => {
  const thing = objectText(raw)
  if (!isGrid(raw))
    throw new InvalidInputError(
      thing,
      `must be a grid of ${GRID_API}`,
      isMap(raw) ? raw['apiVersion'] : raw,
    )
  const object = withoutNulls(thing, raw) as JsonMap
  const kind = object['kind'] as GridKind
  return freeze(
    kind === 'ServiceGrid' ? readServiceGrid(thing, object) : readWorkloadGrid(thing, object, kind),
  )
}

const nodeSchema = v.object({
  kind: v.literal('Node'),
  metadata: v.object({
    name: v.string(),
    labels: v.nullish(texts, {}),
  }),
})

/** @throws InvalidInputError when it is no Node. */
export const parseUnitNode = (raw: unknown): UnitNode => {
  const { metadata } = parseWith(nodeSchema, objectText(raw), raw)
  return freeze({ name: metadata.name, labels: metadata.labels })
}

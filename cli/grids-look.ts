// SPDX-License-Identifier: Apache-2.0
// The grids of a cluster, and which of them an argument names.
import { InvalidInputError } from '../core/errors.js'
import type { GridKind } from '../grids/model/grid.js'
import { gridKinds, GRID_RESOURCES } from '../grids/run/resources.js'
import { takeSnapshot, type Judged } from '../grids/run/snapshot.js'
import type { ResourceClient } from '../kube/client/resource-client.js'
import { nearest } from '../options/nearest.js'
import { duration } from '../options/kinds.js'
import { Exit, type CliContext } from './cli-context.js'
import type { Format } from './format.js'
import { withClient, type KubeFlags } from './kube-options.js'

/** How the cluster is reached, and what is shown. */
export interface ClusterFlags extends KubeFlags {
  readonly namespace: string
  readonly unitGrace: string
  readonly output: Format
}

const SHORT: Readonly<Record<string, GridKind>> = {
  sg: 'ServiceGrid',
  dg: 'DeploymentGrid',
  ssg: 'StatefulSetGrid',
}

const grace = duration('0s', '168h')

/** @throws InvalidInputError for an unknown kind */
const kindOf = (text: string): GridKind => {
  const given = text.toLowerCase()
  const found = gridKinds.find(
    kind => given === kind.toLowerCase() || given === GRID_RESOURCES[kind].resource,
  )
  const kind = found ?? SHORT[given]
  if (kind !== undefined) return kind
  const known = [...gridKinds, ...Object.keys(SHORT)].join(', ')
  throw new InvalidInputError('GRID', `must be KIND/NAME with a kind of ${known}`, text)
}

/** Read all grids of the cluster, and call a function with them and the client. */
export const withGrids = async <T>(
  flags: ClusterFlags,
  context: CliContext,
  act: (all: readonly Judged[], client: ResourceClient) => Promise<T> | T,
): Promise<T> => {
  const graceMs = grace.parse(flags.unitGrace, '--unit-grace')?.value
  if (graceMs === undefined)
    throw new InvalidInputError('--unit-grace', grace.rule, flags.unitGrace)
  const { clock, signal } = context
  return withClient(flags, context, async client =>
    act(await takeSnapshot(client, { now: clock.wall(), graceMs }, signal), client),
  )
}

/** @throws Exit 2 when there is no such grid */
export const pick = (
  all: readonly Judged[],
  text: string,
  { namespace }: Pick<ClusterFlags, 'namespace'>,
): readonly Judged[] => {
  const slash = text.lastIndexOf('/')
  const kind = slash === -1 ? undefined : kindOf(text.slice(0, slash))
  const name = text.slice(slash + 1)
  const found = all.filter(
    ({ record }) =>
      record.namespace === namespace &&
      record.name === name &&
      (kind === undefined || record.kind === kind),
  )
  if (found.length > 0) return found
  const there = all.filter(({ record }) => record.namespace === namespace)
  const close = nearest(
    name,
    there.map(({ record }) => record.name),
  )
  const hint = close === undefined ? '' : ` (did you mean ${close}?)`
  throw new Exit(
    2,
    `GRID must be one of the ${there.length} grids of namespace ${namespace}${hint}, got ${JSON.stringify(text)}`,
  )
}

// SPDX-License-Identifier: Apache-2.0
// Grids and Nodes for tests, as the API writes them.
import type { Grid } from '../../grids/model/grid.js'
import { parseGrid } from '../../grids/model/parse.js'
import { planGrids, type GridPlan } from '../../grids/model/plan.js'

/** Fields over what is usual. */
type Fields = Readonly<Record<string, unknown>>

const metadata = (name: string, more: Fields): Fields => ({
  name,
  namespace: 'default',
  uid: `uid-${name}`,
  generation: 1,
  creationTimestamp: '2026-01-01T00:00:00Z',
  ...more,
})

/** A Deployment's or a StatefulSet's spec with one container. */
export const template = (image = 'nginx:1', more: Fields = {}): Fields => ({
  replicas: 2,
  selector: { matchLabels: { app: 'web' } },
  template: {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'web', image, env: [] }] },
  },
  ...more,
})

const workloadGrid =
  (kind: 'DeploymentGrid' | 'StatefulSetGrid') =>
  (name: string, spec: Fields = {}, meta: Fields = {}): Fields => ({
    apiVersion: 'superedge.io/v1',
    kind,
    metadata: metadata(name, { uid: `uid-${kind}-${name}`, ...meta }),
    spec: { gridUniqKey: 'site', template: template(), ...spec },
  })

export const deploymentGrid = workloadGrid('DeploymentGrid')
export const statefulSetGrid = workloadGrid('StatefulSetGrid')

export const serviceGrid = (name: string, spec: Fields = {}, meta: Fields = {}): Fields => ({
  apiVersion: 'superedge.io/v1',
  kind: 'ServiceGrid',
  metadata: metadata(name, meta),
  spec: {
    gridUniqKey: 'site',
    template: { selector: { app: 'web' }, ports: [{ port: 80, protocol: 'TCP' }] },
    ...spec,
  },
})

/** Nodes by the values of their label `site`. */
export const sites = (
  ...values: readonly string[]
): readonly { labels: Record<string, string> }[] => values.map(site => ({ labels: { site } }))

/** Nodes in NodeUnits. */
export const inUnits = (
  ...units: readonly string[]
): readonly { labels: Record<string, string> }[] =>
  units.map(unit => ({ labels: { [unit]: 'nodeunits.superedge.io' } }))

/** What one grid makes of nodes. */
export const planOne = (
  raw: Fields,
  nodes: readonly { readonly labels: Readonly<Record<string, string>> }[],
): GridPlan => planGrids([parseGrid(raw)], nodes)[0]!

/** The names of all children, as `unit: kind name`. */
export const namesOf = (plans: readonly GridPlan[]): readonly string[] =>
  plans.flatMap(({ children }) =>
    children.map(({ kind, name, unit }) => `${unit ?? '*'}: ${kind} ${name}`),
  )

/** Parse several at once. */
export const parseAll = (...raws: readonly Fields[]): readonly Grid[] => raws.map(parseGrid)

// SPDX-License-Identifier: Apache-2.0
// What `helm template` makes of charts/edge-health.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseManifests } from '../deploy/manifests.js'
import type { Manifest } from '../deploy/rbac.js'

const root = join(import.meta.dirname, '..', '..')

export const chart = join(root, 'charts', 'edge-health')

/** `KIND/NAMESPACE/NAME`, without a namespace where there is none. */
const keyOf = ({ kind, metadata: { namespace, name } }: Manifest): string =>
  [kind, namespace, name].filter(part => part !== undefined).join('/')

/** Objects by kind, namespace and name, in the order of these. */
export const byKey = (objects: readonly Manifest[]): Readonly<Record<string, Manifest>> =>
  Object.fromEntries(
    objects.map(object => [keyOf(object), object] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  )

export interface Rendered {
  /** In helm's order; none when it refuses. */
  readonly text: string
  readonly objects: Readonly<Record<string, Manifest>>
  /** What it says when it refuses. */
  readonly err: string
}

/** `values` as `--set-json` has them: `agent.enabled=false`. @default none, edge-system and the newest Kubernetes */
export type Render = (values?: readonly string[], namespace?: string, kube?: string) => Rendered

/** Helm at a path: run to its end with any arguments, and `helm template`. */
export const makeHelm = (path: string) => {
  const run = (...args: readonly string[]) => spawnSync(path, args, { cwd: root, encoding: 'utf8' })
  const render: Render = (values = [], namespace = 'edge-system', kube = '1.36.3') => {
    const where = ['--namespace', namespace, '--kube-version', kube]
    const set = values.flatMap(value => ['--set-json', value])
    const { status, stdout, stderr } = run('template', 'edge-health', chart, ...where, ...set)
    if (status !== 0) return { text: '', objects: {}, err: stderr }
    return { text: stdout, objects: byKey(parseManifests(stdout)), err: '' }
  }
  return { run, render }
}

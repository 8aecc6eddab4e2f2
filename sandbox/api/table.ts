// SPDX-License-Identifier: Apache-2.0
import { mapAt, mapsAt, textAt, type KubeObject } from './object.js'
import type { Row } from './row.js'

/** A column of `kubectl get`: its head, how wide a view shows it (0 always), and what stands in it. */
interface Column {
  readonly name: string
  readonly priority: number
  readonly cell: (object: KubeObject, now: number) => string | number
}

const column = (name: string, cell: Column['cell'], priority = 0): Column => ({
  name,
  priority,
  cell,
})

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const

/** As kubectl writes lengths of time: the largest unit of which there are at least two. */
const age = (from: string, now: number): string => {
  if (from === '') return '<unknown>'
  const seconds = Math.max(0, Math.floor((now - Date.parse(from)) / 1000))
  for (const [unit, length] of UNITS) {
    if (seconds >= 2 * length) return `${Math.floor(seconds / length)}${unit}`
  }
  return `${seconds}s`
}

const name = column('Name', object => object.metadata.name)
const created = column('Age', (object, now) => age(object.metadata.creationTimestamp, now))

const nodeStatus = (node: KubeObject): string => {
  const ready = mapsAt(mapAt(node, 'status'), 'conditions').find(one => one['type'] === 'Ready')
  const words = [
    ready === undefined ? 'Unknown' : ready['status'] === 'True' ? 'Ready' : 'NotReady',
  ]
  if (mapAt(node, 'spec')['unschedulable'] === true) words.push('SchedulingDisabled')
  return words.join(',')
}

const ROLE = 'node-role.kubernetes.io/'

const nodeRoles = (node: KubeObject): string => {
  const roles = Object.keys(node.metadata.labels ?? {})
    .filter(label => label.startsWith(ROLE))
    .map(label => label.slice(ROLE.length))
  return roles.length === 0 ? '<none>' : roles.sort().join(',')
}

const nodeAddress = (node: KubeObject): string => {
  const addresses = mapsAt(mapAt(node, 'status'), 'addresses')
  return textAt(addresses.find(one => one['type'] === 'InternalIP') ?? {}, 'address') || '<none>'
}

const eventSeen = (event: KubeObject): string =>
  textAt(event, 'series.lastObservedTime') ||
  textAt(event, 'lastTimestamp') ||
  textAt(event, 'eventTime') ||
  textAt(event, 'firstTimestamp')

const eventObject = (event: KubeObject): string =>
  `${textAt(event, 'involvedObject.kind').toLowerCase()}/${textAt(event, 'involvedObject.name')}`

const TABLES: Readonly<Record<string, readonly Column[]>> = {
  nodes: [
    name,
    column('Status', nodeStatus),
    column('Roles', nodeRoles),
    created,
    column('Version', node => textAt(node, 'status.nodeInfo.kubeletVersion')),
    column('Internal-IP', nodeAddress, 1),
    column(
      'Taints',
      node =>
        mapsAt(mapAt(node, 'spec'), 'taints')
          .map(taint => `${textAt(taint, 'key')}:${textAt(taint, 'effect')}`)
          .join(',') || '<none>',
      1,
    ),
  ],
  events: [
    column('Last Seen', (event, now) => age(eventSeen(event), now)),
    column('Type', event => textAt(event, 'type')),
    column('Reason', event => textAt(event, 'reason')),
    column('Object', eventObject),
    column(
      'Source',
      event => textAt(event, 'reportingComponent') || textAt(event, 'source.component'),
      1,
    ),
    column('Message', event => textAt(event, 'message').trim()),
  ],
  leases: [name, column('Holder', lease => textAt(lease, 'spec.holderIdentity')), created],
  pods: [
    name,
    column('Status', pod =>
      pod.metadata.deletionTimestamp === undefined ? textAt(pod, 'status.phase') : 'Terminating',
    ),
    created,
    column('Node', pod => textAt(pod, 'spec.nodeName') || '<none>', 1),
  ],
}

/** Kinds without a table are sent as they are; kubectl then shows name and age. */
export const hasTable = (row: Row): boolean => Object.hasOwn(TABLES, row.storage)

/** What a row brings beside its cells: `includeObject` of the query. */
export type RowObject = 'None' | 'Metadata' | 'Object'

const objectOf = (object: KubeObject, include: RowObject): unknown => {
  if (include === 'None') return null
  if (include === 'Object') return object
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: 'meta.k8s.io/v1',
    metadata: object.metadata,
  }
}

/** What a Table is made of, beside its objects. */
export interface TableParts {
  readonly head: object
  readonly include: RowObject
  /** A watch names its columns once. */
  readonly hasColumns: boolean
  /** Epoch ms, for ages. */
  readonly now: number
}

/** `kubectl get` asks for this: cells instead of objects, so that it needs to know nothing about the kind. */
export const tableOf = (
  row: Row,
  objects: readonly KubeObject[],
  { head, include, hasColumns, now }: TableParts,
): unknown => {
  const columns = TABLES[row.storage] ?? [name, created]
  const definitions = columns.map(one => ({
    name: one.name,
    type: 'string',
    format: one === name ? 'name' : '',
    description: '',
    priority: one.priority,
  }))
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: head,
    columnDefinitions: hasColumns ? definitions : null,
    rows: objects.map(object => ({
      cells: columns.map(one => one.cell(object, now)),
      object: objectOf(object, include),
    })),
  }
}

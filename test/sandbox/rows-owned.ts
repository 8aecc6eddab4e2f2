// SPDX-License-Identifier: Apache-2.0
// Conformance rows: what becomes of owned objects. A garbage collector runs beside both servers.
import type { Row, Step } from '../../testkit/kube/conformance.js'
import { get, map, MAPS, post, type Body } from './conformance-words.js'

const made = (name: string): Step => ({
  ...(post(MAPS, map(name)) as Extract<Step, { do: string }>),
  save: { [name]: 'metadata.uid' },
})
const owner = (name: string, more: Body = {}): Body => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', name: `{id}-${name}`, uid: `{${name}}` },
  ...more,
})
const CONTROLS = { controller: true, blockOwnerDeletion: true }
const owned = (name: string, ...ownerReferences: readonly Body[]): Step =>
  post(MAPS, map(name, {}, { ownerReferences }))
const remove = (name: string, propagationPolicy?: string): Step => ({
  do: `DELETE ${MAPS}/{id}-${name}`,
  body: propagationPolicy === undefined ? {} : { propagationPolicy },
  want: { status: 200 },
})
const goes = (name: string): Step => ({
  do: `GET ${MAPS}/{id}-${name}`,
  until: true,
  want: { status: 404 },
})

export const owning: readonly Row[] = [
  [
    'a child goes with its owner, and its own children with it',
    made('ga'),
    {
      ...(owned('gb', owner('ga', CONTROLS)) as Extract<Step, { do: string }>),
      save: { gb: 'metadata.uid' },
    },
    owned('gc', owner('gb')),
    remove('ga'),
    goes('ga'),
    goes('gb'),
    goes('gc'),
  ],
  [
    'a child with another owner stays, and forgets the one that went',
    made('gd'),
    made('ge'),
    owned('gf', owner('gd'), owner('ge')),
    remove('gd'),
    goes('gd'),
    {
      do: `GET ${MAPS}/{id}-gf`,
      until: true,
      want: { status: 200, 'metadata.ownerReferences': [owner('ge')] },
    },
  ],
  [
    'orphans stay, without their owner',
    made('gg'),
    owned('gh', owner('gg', CONTROLS)),
    remove('gg', 'Orphan'),
    goes('gg'),
    get(`${MAPS}/{id}-gh`, { 'metadata.ownerReferences': null }),
  ],
  [
    'in the foreground the owner goes after its children',
    made('gi'),
    post(MAPS, map('gj', {}, { ownerReferences: [owner('gi', CONTROLS)], finalizers: ['a/b'] })),
    {
      ...(remove('gi', 'Foreground') as Extract<Step, { do: string }>),
      want: { status: 200, 'metadata.finalizers': ['foregroundDeletion'] },
    },
    {
      do: `PATCH ${MAPS}/{id}-gj`,
      type: 'merge',
      body: { metadata: { finalizers: null } },
      want: { status: 200 },
    },
    goes('gj'),
    goes('gi'),
  ],
  [
    'a child of an owner that never was goes: a name is no owner',
    made('gk'),
    owned('gl', { ...owner('gk'), uid: '00000000-0000-0000-0000-000000000000' }),
    goes('gl'),
    get(`${MAPS}/{id}-gk`, {}),
  ],
]

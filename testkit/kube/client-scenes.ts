// SPDX-License-Identifier: Apache-2.0
// What the client for any resource does with a server, verb by verb: the same on the embedded API and on a real one.
import { isDeepStrictEqual } from 'node:util'
import { systemClock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import { silentLog } from '../../core/log.js'
import { fixedCredentials } from '../../kube/client/fixed-credentials.js'
import { makeResourceClient } from '../../kube/client/http-resource-client.js'
import { metadataOf, scaleOf, statusOf, type ResourceType } from '../../kube/client/resource.js'
import { seededRandom } from '../seeded-random.js'
import {
  DEPLOYMENTS,
  MAPS,
  NODE,
  NODES,
  ROWS,
  define,
  deployment,
  gadget,
  map,
  namespace,
  never,
  refusalOf,
  until,
  type Raw,
  type Scene,
  type Shown,
} from './client-scene.js'

/** A server, and how it is made to forget old versions; undefined where it cannot be. */
export interface SceneServer {
  readonly url: string
  readonly token: string
  /** PEM; undefined for plain http. */
  readonly ca?: string | undefined
  /** Sets apart the objects of one run. */
  readonly id: string
  readonly forget: (() => Promise<void>) | undefined
}

const scenes: readonly Scene[] = [
  [
    'create, get, update, delete',
    async ({ client, id }) => {
      const at = { namespace, name: `${id}-a` }
      const made = await client.create(
        MAPS,
        { namespace },
        { body: map(at.name, { k: '1' }) },
        never,
      )
      const again = client.create(MAPS, { namespace }, { body: map(at.name, {}) }, never)
      const refused = [await refusalOf(again)]
      const next = { ...map(at.name, { k: '2' }), metadata: { ...at, resourceVersion: '1' } }
      refused.push(await refusalOf(client.update(MAPS, at, { body: next }, never)))
      await client.update(MAPS, at, { body: map(at.name, { k: '2' }) }, never)
      const got = await client.get(MAPS, at, never)
      refused.push(
        await refusalOf(
          client.delete(MAPS, at, { uid: `${made.metadata.uid.slice(0, -4)}0000` }, never),
        ),
      )
      refused.push(
        await refusalOf(
          client.delete(MAPS, at, { resourceVersion: made.metadata.resourceVersion }, never),
        ),
      )
      const propagation = 'Background'
      await client.delete(MAPS, at, { uid: made.metadata.uid, propagation }, never)
      refused.push(await refusalOf(client.get(MAPS, at, never)))
      return { data: got.data, refused }
    },
    {
      data: { k: '2' },
      refused: [
        [409, 'AlreadyExists'],
        [409, 'Conflict'],
        [409, 'Conflict'],
        [409, 'Conflict'],
        [404, 'NotFound'],
      ],
    },
  ],
  [
    'every kind of patch',
    async ({ client, id }) => {
      const at = { namespace, name: `${id}-b` }
      await client.create(MAPS, { namespace }, { body: map(at.name, { k: '1', l: '1' }) }, never)
      const patches = [
        { type: 'merge', body: { data: { k: '2' } } },
        { type: 'strategic-merge', body: { data: { l: null } } },
        {
          type: 'json',
          operations: [
            { op: 'test', path: '/data/k', value: '2' },
            { op: 'add', path: '/data/m', value: '3' },
          ],
        },
      ] as const
      for (const patch of patches) await client.patch(MAPS, at, { patch }, never)
      return (await client.get(MAPS, at, never)).data
    },
    { k: '2', m: '3' },
  ],
  [
    'apply: a conflict names the field, force takes it, the same writes nothing, what is left out goes',
    async ({ client, id }) => {
      const at = { namespace, name: `${id}-c` }
      const apply = (fieldManager: string, data: object | undefined, isForced = false) =>
        client.apply(MAPS, at, { body: map(at.name, data), fieldManager, isForced }, never)
      const first = await apply('a', { k: '1', l: '1' })
      const same = await apply('a', { k: '1', l: '1' })
      const refused = await refusalOf(apply('b', { k: '2' }))
      const forced = await apply('b', { k: '2' }, true)
      const left = await apply('a', undefined)
      return {
        isUnwritten: first.metadata.resourceVersion === same.metadata.resourceVersion,
        refused,
        forced: forced.data,
        left: left.data,
        managers: left.metadata.managedFields?.map(({ manager }) => manager),
      }
    },
    {
      isUnwritten: true,
      refused: [409, 'Conflict', '.data.k'],
      forced: { k: '2', l: '1' },
      left: { k: '2' },
      managers: ['b'],
    },
  ],
  [
    'dry runs leave nothing',
    async ({ client, id }) => {
      const at = { namespace, name: `${id}-d` }
      const body = map(at.name, { k: '1' })
      const isDryRun = true
      const seen = await client.create(MAPS, { namespace }, { body, isDryRun }, never)
      await client.apply(MAPS, at, { body, isDryRun }, never)
      const none = await refusalOf(client.get(MAPS, at, never))
      const made = await client.create(MAPS, { namespace }, { body }, never)
      const patch = { type: 'merge', body: { data: { k: '2' } } } as const
      const patched = await client.patch(MAPS, at, { patch, isDryRun }, never)
      await client.delete(MAPS, at, { isDryRun }, never)
      const kept = await client.get(MAPS, at, never)
      const isKept = kept.metadata.resourceVersion === made.metadata.resourceVersion
      return { seen: seen.data, none, patched: patched.data, kept: kept.data, isKept }
    },
    {
      seen: { k: '1' },
      none: [404, 'NotFound'],
      patched: { k: '2' },
      kept: { k: '1' },
      isKept: true,
    },
  ],
  [
    'scale of a Deployment',
    async ({ client, id }) => {
      const at = { namespace, name: `${id}-e` }
      await client.create(DEPLOYMENTS, { namespace }, { body: deployment(at.name, 2) }, never)
      const before = await client.get(scaleOf(DEPLOYMENTS), at, never)
      const patch = { type: 'merge', body: { spec: { replicas: 5 } } } as const
      const { replicas } = await client.patch(scaleOf(DEPLOYMENTS), at, { patch }, never)
      const { spec, metadata } = await client.get(DEPLOYMENTS, at, never)
      const { generation } = metadata
      return [before.replicas, before.currentReplicas, replicas, spec?.['replicas'], generation]
    },
    [2, 0, 5, 5, 2],
  ],
  [
    'status, spec and scale of a custom resource',
    async stage => {
      const { client } = stage
      const gadgets = await define(stage)
      const at = { namespace, name: 'g' }
      const body = gadget(gadgets, { replicas: 1 }, { replicas: 9 })
      const made = await client.create(gadgets, { namespace }, { body }, never)
      const status = gadget(gadgets, { replicas: 7 }, { replicas: 4 })
      const seen = await client.apply(statusOf(gadgets), at, { body: status }, never)
      const patch = { type: 'merge', body: { spec: { replicas: 3 } } } as const
      const scaled = await client.patch(scaleOf(gadgets), at, { patch }, never)
      const strategic = { type: 'strategic-merge', body: {} } as const
      const refused = await refusalOf(client.patch(gadgets, at, { patch: strategic }, never))
      return [made.status, seen.spec, seen.status, scaled.replicas, scaled.currentReplicas, refused]
    },
    [undefined, { replicas: 1 }, { replicas: 4 }, 3, 4, [415, 'UnsupportedMediaType']],
  ],
  [
    'a custom resource, and its metadata alone, are watched',
    async stage => {
      const { client } = stage
      const gadgets = await define(stage)
      const at = { namespace, name: 'g' }
      const seen: string[] = []
      const sink = <T>(name: string, show: (item: T) => string) => ({
        replace: (items: readonly T[]) => void seen.push(`${name}=${items.map(show).join(',')}`),
        upsert: (item: T) => void seen.push(`${name}+${show(item)}`),
        remove: (key: string) => void seen.push(`${name}-${key}`),
      })
      const colour = (raw: Raw) => String(raw.spec?.['colour'])
      const watches = [
        client.watch(gadgets, { namespace }, sink('o', colour)),
        client.watch(
          metadataOf(gadgets),
          { namespace },
          sink('m', item => item.name),
        ),
      ]
      const body = gadget(gadgets, { colour: 'red' })
      await until(() => watches.every(({ status }) => status.state === 'watching'))
      await client.create(gadgets, { namespace }, { body }, never)
      await until(() => seen.length === 4)
      await client.delete(gadgets, at, {}, never)
      await until(() => seen.length === 6)
      for (const watching of watches) await watching.stop()
      return seen.sort()
    },
    ['m+g', 'm-default/g', 'm=', 'o+red', 'o-default/g', 'o='],
  ],
  [
    'Nodes as rows of a Table: listed, followed, and gone when they leave the selection',
    async ({ client, id }) => {
      const labels = { run: `${id}-t` }
      const addresses = (address: string) => ({
        status: { addresses: [{ type: 'InternalIP', address }] },
      })
      const make = async (name: string, address: string): Promise<void> => {
        const metadata = { name: `${id}-${name}`, labels }
        await client.create(NODES, {}, { body: { ...NODE, metadata } }, never)
        await patchNode(name, statusOf(NODES), addresses(address))
      }
      const patchNode = (name: string, type: ResourceType<Raw>, body: object): Promise<Raw> =>
        client.patch(
          type,
          { name: `${id}-${name}` },
          { patch: { type: 'merge', body: { ...body } } },
          never,
        )
      await make('ta', '10.0.0.1')
      const seen: string[] = []
      const short = (row: Shown): string => `${row.name.slice(id.length + 1)} ${row.address}`
      const which = { labelSelector: `run=${id}-t` }
      const watching = client.watch(ROWS, which, {
        replace: rows => seen.push(...rows.map(row => `=${short(row)}`)),
        upsert: row => seen.push(`+${short(row)}`),
        remove: key => seen.push(`-${key.slice(id.length + 1)}`),
      })
      await until(() => watching.status.state === 'watching')
      await make('tb', 'fd00::1')
      await until(() => seen.length >= 3)
      await patchNode('ta', NODES, { metadata: { labels: { run: 'other' } } })
      await until(() => seen.length >= 4)
      await client.delete(NODES, { name: `${id}-tb` }, {}, never)
      await until(() => seen.length >= 5)
      await watching.stop()
      return [seen, (await client.list(ROWS, which, never)).items]
    },
    [['=ta 10.0.0.1', '+tb <none>', '+tb fd00::1', '-ta', '-tb'], []],
  ],
  [
    'a list in pages, and a page of a state that the server forgot',
    async ({ client, id, forget }) => {
      const labels = { run: `${id}-p` }
      for (const name of ['x', 'y', 'z']) {
        const body = { ...map(`${id}-${name}`, {}), metadata: { name: `${id}-${name}`, labels } }
        await client.create(MAPS, { namespace }, { body }, never)
      }
      const which = { namespace, labelSelector: `run=${id}-p`, limit: 2 }
      const names = metadataOf(MAPS)
      const first = await client.list(names, which, never)
      const rest = await client.list(names, { ...which, continueAt: first.next }, never)
      // The present state is never forgotten.
      const more = { body: map(`${id}-w`, {}) }
      await client.create(MAPS, { namespace }, more, never)
      await forget()
      const late = { ...which, continueAt: first.next }
      const isSame = first.resourceVersion === rest.resourceVersion
      const counts = [first.items.length, rest.items.length, rest.next, isSame]
      return [...counts, await refusalOf(client.list(names, late, never))]
    },
    [2, 1, '', true, [410, 'Expired']],
  ],
]

/** Claims of all scenes, in order. */
export const sceneNames: readonly string[] = scenes.map(([name]) => name)

/** Play a scene. @returns how what came of it differs from what must; nothing when it does not. */
export const playScene = async (server: SceneServer, index: number): Promise<readonly string[]> => {
  const [, play, want] = scenes[index]!
  const seams = { clock: systemClock, random: seededRandom(1), log: silentLog }
  const credentials = fixedCredentials({ ...server, server: server.url })
  const client = makeResourceClient({ credentials, ...seams }, { fieldManager: 'scenes' })
  const forget = server.forget ?? (() => Promise.reject(new Error('this server cannot forget')))
  try {
    const got = await play({ client, id: server.id, forget })
    if (isDeepStrictEqual(got, want)) return []
    return [`gave ${JSON.stringify(got)}, wanted ${JSON.stringify(want)}`]
  } catch (error) {
    return [`broke off: ${reasonOf(error)}`]
  } finally {
    await client.close()
  }
}

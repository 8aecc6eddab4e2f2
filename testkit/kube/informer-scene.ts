// SPDX-License-Identifier: Apache-2.0
// An informer on a server that changes objects, forgets its past and starts anew: the same on the embedded API and on a real one.
import { isDeepStrictEqual } from 'node:util'
import { Informer } from '../../controller/informer.js'
import { systemClock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import { silentLog } from '../../core/log.js'
import { systemRandom } from '../../core/random.js'
import { fixedCredentials } from '../../kube/client/fixed-credentials.js'
import { makeResourceClient } from '../../kube/client/http-resource-client.js'
import { metadataOf, parseMetadata, type ObjectMetadata } from '../../kube/client/resource.js'
import type { SceneServer } from './client-scenes.js'

const MAPS = { group: '', version: 'v1', resource: 'configmaps' }
const never = new AbortController().signal
const namespace = 'default'
const PATIENCE_MS = 30_000

const play = async ({ url, token, ca, id, forget }: SceneServer): Promise<readonly string[]> => {
  const seams = { clock: systemClock, random: systemRandom, log: silentLog }
  const credentials = fixedCredentials({ server: url, token, ca })
  const client = makeResourceClient(
    { credentials, ...seams },
    { fieldManager: 'scenes', watch: { pageSize: 2 } },
  )
  const changes: string[] = []
  const informer = new Informer<ObjectMetadata>({
    ...{ client, log: silentLog, resource: MAPS, namespace, form: 'metadata' },
    labelSelector: `scene=${id}`,
    project: parseMetadata,
    indices: { letter: view => [view.labels['letter'] ?? ''] },
    onChange: (key, before, after) => {
      const letters = [before, after].map(view => view?.labels['letter'] ?? '-')
      changes.push(`${key.slice(namespace.length + id.length + 2)} ${letters.join(' ')}`)
    },
  })
  const maps = metadataOf(MAPS)
  const any = { ...MAPS, parse: parseMetadata }
  const metadata = (name: string, letter: string) => ({
    name: `${id}-${name}`,
    labels: { scene: id, letter },
  })
  const make = (name: string, letter: string) => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata(name, letter) }
    return client.create(any, { namespace }, { body }, never)
  }
  const change = (name: string, labels: object) => {
    const patch = { type: 'merge', body: { metadata: { labels } } } as const
    return client.patch(any, { namespace, name: `${id}-${name}` }, { patch }, never)
  }
  const remove = (name: string) =>
    client.delete(maps, { namespace, name: `${id}-${name}` }, {}, never)
  const reached = async (version: string): Promise<void> => {
    const endsAt = systemClock.now() + PATIENCE_MS
    while (!informer.hasReached(version)) {
      if (systemClock.now() > endsAt) throw new Error(`version ${version} was never reached`)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  try {
    for (const name of ['a', 'b', 'c']) await make(name, 'x')
    informer.start()
    await informer.synced
    await change('a', { letter: 'y' })
    await change('c', { scene: null })
    await reached((await make('d', 'y')).resourceVersion)
    await forget?.()
    await change('b', { letter: 'z' })
    await remove('a')
    await make('a', 'x')
    await reached((await change('d', { letter: 'x' })).resourceVersion)
    const found = informer.byIndex('letter', 'x').map(({ name }) => name.slice(id.length + 1))
    // What one list shows comes in no order that is promised.
    return [...changes.slice(0, 6), ...changes.slice(6).sort(), `x: ${found.sort().join()}`]
  } finally {
    await informer.stop()
    await client.close()
  }
}

const WANTED = [
  ...['a - x', 'b - x', 'c - x', 'a x y', 'c x -', 'd - y'],
  ...['a - x', 'a y -', 'b x z', 'd y x'],
  'x: a,d',
]

/** Play it to a server. @returns how what came of it differs from what must; nothing when it does not */
export const playInformer = async (server: SceneServer): Promise<readonly string[]> => {
  try {
    const got = await play(server)
    if (isDeepStrictEqual(got, WANTED)) return []
    return [`told ${JSON.stringify(got)}, wanted ${JSON.stringify(WANTED)}`]
  } catch (error) {
    return [`broke off: ${reasonOf(error)}`]
  }
}

// SPDX-License-Identifier: Apache-2.0
// What a controller tells and deletes: the same on the embedded API and on a real one.
import { isDeepStrictEqual } from 'node:util'
import { EventRecorder } from '../../controller/event-recorder.js'
import { deleteExactly } from '../../controller/ownership.js'
import { systemClock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import { recordingLog } from '../recording-log.js'
import { systemRandom } from '../../core/random.js'
import { fixedCredentials } from '../../kube/client/fixed-credentials.js'
import { makeResourceClient } from '../../kube/client/http-resource-client.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import { parseMetadata } from '../../kube/client/resource.js'
import type { SceneServer } from './client-scenes.js'

const MAPS = { group: '', version: 'v1', resource: 'configmaps' }
const never = new AbortController().signal
const namespace = 'default'

interface WrittenEvent {
  readonly metadata: { readonly name: string }
  readonly note?: string
  readonly regarding?: { readonly uid?: string }
  readonly series?: { readonly count?: number }
}

const EVENTS = {
  ...{ group: 'events.k8s.io', version: 'v1', resource: 'events' },
  parse: (raw: unknown) => raw as WrittenEvent,
}

const play = async (client: ResourceClient, id: string): Promise<readonly string[]> => {
  const seams = { client, clock: systemClock, random: systemRandom, log: recordingLog() }
  const recorder = (): EventRecorder =>
    new EventRecorder(seams, { reportingController: 'scenes', reportingInstance: id })
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: id } }
  const maps = { ...MAPS, parse: parseMetadata }
  const { uid, resourceVersion } = await client.create(maps, { namespace }, { body }, never)
  const about = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: id, uid }
  const words = {
    type: 'Warning',
    reason: 'NameTaken',
    action: 'Apply',
    note: 'ä'.repeat(2_000),
  } as const
  const eventsAbout = async (): Promise<readonly WrittenEvent[]> => {
    const { items } = await client.list(EVENTS, { namespace }, never)
    return items.filter(({ regarding }) => regarding?.uid === uid)
  }
  const look = async (): Promise<string> =>
    (await eventsAbout())
      .map(({ note = '', series }) => `${note.length} ${series?.count ?? 1}`)
      .join()
  const sent = async (one: EventRecorder): Promise<void> => {
    while (one.status.sent === 0) await new Promise(resolve => setTimeout(resolve, 20))
  }

  const first = recorder()
  for (let i = 0; i < 3; i++) first.record(about, words)
  await sent(first)
  await first.stop(never)
  const seen = [await look()]
  const second = recorder()
  second.record(about, { ...words, note: 'short' })
  await sent(second)
  for (const { metadata } of await eventsAbout())
    await client.delete(EVENTS, { namespace, name: metadata.name }, {}, never)
  second.record(about, { ...words, note: 'short' })
  await second.stop(never)
  seen.push(await look(), `${first.status.dropped + second.status.dropped} dropped`)

  const exact = { namespace, name: id, uid, resourceVersion }
  const patch = { type: 'merge', body: { data: { a: 'b' } } } as const
  const now = await client.patch(maps, { namespace, name: id }, { patch }, never)
  seen.push(await deleteExactly(client, MAPS, exact, never))
  const another = { ...exact, resourceVersion: now.resourceVersion, uid: 'another' }
  seen.push(await deleteExactly(client, MAPS, another, never))
  const present = { ...exact, resourceVersion: now.resourceVersion }
  seen.push(await deleteExactly(client, MAPS, present, never))
  seen.push(await deleteExactly(client, MAPS, present, never))
  return seen
}

const WANTED = ['511 3', '5 2', '0 dropped', 'changed', 'changed', 'deleted', 'gone']

/** Play it to a server. @returns how what came of it differs from what must; nothing when it does not */
export const playRecorder = async ({
  url,
  token,
  ca,
  id,
}: Pick<SceneServer, 'url' | 'token' | 'ca' | 'id'>): Promise<readonly string[]> => {
  const credentials = fixedCredentials({ server: url, token, ca })
  const seams = { credentials, clock: systemClock, random: systemRandom, log: recordingLog() }
  const client = makeResourceClient(seams, { fieldManager: 'scenes' })
  try {
    const got = await play(client, id)
    if (isDeepStrictEqual(got, WANTED)) return []
    return [`gave ${JSON.stringify(got)}, wanted ${JSON.stringify(WANTED)}`]
  } catch (error) {
    return [`broke off: ${reasonOf(error)}`]
  } finally {
    await client.close()
  }
}

// SPDX-License-Identifier: Apache-2.0
// The keys of the own Node, against an API that does not keep what is written.
import t from 'tap'
import { ApiBackoff } from '../../../../agent/api-backoff.js'
import { IDENTITY_ANNOTATION } from '../../../../agent/identity/annotation.js'
import { resolveAgentOptions } from '../../../../agent/options/resolve.js'
import { makeIdentityStage } from '../../../../agent/stages/identity/stage.js'
import { makeResultStore } from '../../../../agent/store.js'
import { parseNodeName, parseZoneName } from '../../../../core/ids.js'
import { makeRoster } from '../../../../core/roster.js'
import type { KubePatch } from '../../../../kube/client/write.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'
import { memoryFolder } from '../../../../testkit/zone/memory-folder.js'

const SELF = parseNodeName('n1')

interface Written {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> }
}

/** @param isKept whether the API keeps what is written into the own Node */
const bed = async (isKept: () => boolean) => {
  const clock = new FakeClock()
  const random = seededRandom(1)
  const log = recordingLog()
  const store = makeResultStore(clock.now())
  const node: { annotation: string | undefined } = { annotation: undefined }
  const writes: number[] = []
  const kube = {
    getNodeNotes: async () => ({
      uid: 'u1',
      annotations: node.annotation === undefined ? {} : { [IDENTITY_ANNOTATION]: node.annotation },
    }),
    patchNode: async (_name: string, patch: KubePatch) => {
      writes.push(clock.now())
      const { metadata } = (patch as unknown as { body: Written }).body
      if (isKept()) node.annotation = metadata.annotations[IDENTITY_ANNOTATION]
      // Nobody looks at it.
      return undefined as never
    },
  }
  const { options } = resolveAgentOptions({
    flags: [
      { name: 'node-name', text: SELF },
      { name: 'identity', text: 'prefer' },
    ],
    env: {},
  })
  const stage = makeIdentityStage(options, {
    ...{ kube, store, clock, random, log, folder: memoryFolder(new Map()) },
    apiBackoff: new ApiBackoff({ clock, random }),
  })
  const roster = makeRoster(parseZoneName('z'), SELF, [{ name: SELF, address: '10.0.0.1' }])
  store.nodeList.set({ ...store.nodeList.current, roster, source: 'api' })
  await stage.start()
  return { clock, store, stage, writes, node, log }
}

t.test('own keys that are taken off the Node again are not written without end', async t => {
  let isKept = false
  const { clock, store, stage, writes, log } = await bed(() => isKept)
  await clock.advance(60_000)
  t.ok(writes.length >= 2 && writes.length <= 6, `${writes.length} writes in a minute`)
  t.equal(store.identities.current.own, undefined)
  t.match(
    log.lines.filter(({ level }) => level === 'warn'),
    { length: 1 },
    'people are told, once',
  )
  isKept = true
  await clock.advance(60_000)
  t.ok(store.identities.current.own, 'they are published when they may stay')
  const { length } = writes
  await clock.advance(600_000)
  t.equal(writes.length, length)
  await stage.stop()
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { NodeLink } from '../../../../bridge/hub/node-link.js'
import type { Place } from '../../../../bridge/model/record/held.js'
import { Sender } from '../../../../bridge/run/downstream/sender.js'
import { NodeRecord } from '../../../../bridge/run/recorder/node-record.js'
import { parseNodeName, type NodeName } from '../../../../core/ids.js'
import type { JsonMap } from '../../../../core/json.js'
import type { ResourceClient } from '../../../../kube/client/resource-client.js'
import { FakeClock, settle } from '../../../../testkit/fake-clock.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'

const EDGES = 100
const MAP: Place = { type: 'configmap', namespace: 'shop', name: 'big' }
const metadata = { uid: 'u1', resourceVersion: '7', namespace: 'shop', name: 'big' }

/** A ConfigMap that all edges mount, of so many bytes. */
const openSender = async (size: number) => {
  const clock = new FakeClock()
  const content = { key: 'x'.repeat(size) }
  let looks = 0
  const object: JsonMap = Object.defineProperty({ metadata }, 'data', {
    enumerable: true,
    get: () => (looks++, content),
  })
  const client = { get: () => Promise.resolve(object) } as unknown as Pick<ResourceClient, 'get'>
  const held = { ...MAP, version: '7', print: '' }
  const keeping = { save: () => Promise.resolve(), saveSoon: () => undefined }
  const term = new AbortController()
  const sender = new Sender(
    {
      ...{ client, clock, log: recordingLog(), random: seededRandom(1) },
      cluster: {
        isEdge: () => true,
        podRead: () => undefined,
        wanted: () => ({ uid: 'u1', held, text: undefined }),
        wantedOf: () => new Map(),
      },
      recorder: {
        forget: () => undefined,
        open: () => Promise.resolve(new NodeRecord(new Map(), keeping)),
        stop: () => Promise.resolve(),
      },
    },
    term.signal,
  )
  const nodes = Array.from({ length: EDGES }, (_, i) => parseNodeName(`e${i}`))
  const sent: NodeName[] = []
  for (const node of nodes) {
    const link: NodeLink = {
      ...{ node, remote: '10.0.0.1', since: 0, isBehind: false, isHeld: false },
      hold: () => undefined,
      release: () => undefined,
      send: () => sent.push(node) > 0,
    }
    sender.connected(link)
  }
  await settle()
  for (const node of nodes) sender.ask(node, MAP)
  return { clock, looks: () => looks, nodes, sender, sent, term }
}

t.test('an object that many edges mount is turned into a message once', async t => {
  const { clock, looks, sent } = await openSender(900_000)
  await clock.advance(1_000)
  t.equal(sent.length, EDGES)
  t.ok(looks() < 10, `${looks()} times`)
})

t.test('between the edges that are sent a large object others have their turn', async t => {
  const { clock, nodes, sender, sent } = await openSender(900_000)
  let most = 0
  let before = 0
  const look = (): void => {
    most = Math.max(most, sent.length - before)
    before = sent.length
    // When what this turn began has gone on: time may stand still.
    if (before < EDGES) void Promise.resolve().then(() => clock.after(0, look))
  }
  clock.after(0, look)
  await clock.advance(1_000)
  t.strictSame(sent, nodes)
  t.ok(most <= 4, `${most} at once`)
  t.equal(sender.reading, 0)
})

t.test('a term that ends meanwhile goes on to no other edge', async t => {
  const { sent, term } = await openSender(900_000)
  await settle()
  term.abort()
  await settle()
  t.ok(sent.length > 0 && sent.length < EDGES / 2)
})

t.test('a small object goes to all edges at once', async t => {
  const { sent } = await openSender(100)
  await settle()
  t.equal(sent.length, EDGES)
})

// SPDX-License-Identifier: Apache-2.0
// A table that is behind, broken or not listed yet.
import t from 'tap'
import { parseReview } from '../../../admission/model/review.js'
import { NodeTable } from '../../../admission/run/node-table.js'
import { Reviewer } from '../../../admission/run/reviewer.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import type { WatchSink, WatchStatus } from '../../../kube/client/watching.js'
import { FakeClock, settle } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import {
  makeNode,
  makePod,
  makeReview,
  STAMP,
  VOUCHED,
  type NodeOdds,
} from '../../../testkit/admission/reviews.js'

/** A watch that a test feeds. */
const scene = () => {
  const clock = new FakeClock()
  let sink: WatchSink<unknown> | undefined
  let parse: (raw: unknown) => unknown = raw => raw
  let state: WatchStatus['state'] = 'listing'
  let version = 1
  const watch: ResourceClient['watch'] = (type, _which, given) => {
    sink = given
    parse = type.parse
    return {
      get status() {
        return { state, lastHeardAt: clock.now(), lists: 1, trouble: undefined, isAway: false }
      },
      stop: () => Promise.resolve(),
    }
  }
  const table = new NodeTable({ client: { watch }, clock, log: recordingLog() })
  table.informer.start()
  const read = (odds: NodeOdds): unknown => {
    const node = makeNode(odds)
    const metadata = {
      ...(node['metadata'] as object),
      uid: 'u',
      resourceVersion: String(version++),
    }
    return parse({ ...node, metadata })
  }
  const become = (next: WatchStatus['state']): void => {
    state = next
    sink!.changed?.()
  }
  const reviewer = new Reviewer(
    { rules: VOUCHED, untouched: new Set() },
    { table, clock, serverTime: () => undefined },
  )
  const review = parseReview(makeReview('/pod-status', makePod('n1', 'False'), makePod('n1', 'True'))) // prettier-ignore
  return {
    ...{ clock, table, become },
    list: (...nodes: readonly NodeOdds[]) => {
      sink!.replace(nodes.map(read))
      become('watching')
    },
    change: (odds: NodeOdds) => sink!.upsert(read(odds)),
    decide: async (source = 'apiserver'): Promise<string> => {
      const decision = await reviewer.decide('/pod-status', review, source)
      return decision.kind === 'unchanged' ? decision.why : decision.kind
    },
  }
}

t.test('nothing is decided before the Nodes are listed', async t => {
  const { decide, list, table } = scene()
  t.equal(await decide(), 'table-not-ready')
  list({})
  t.ok(table.isReady)
  t.equal(await decide(), 'refused')
})

t.test('a watch that is broken for longer than half a minute counts for nothing', async t => {
  const { decide, list, become, clock } = scene()
  list({})
  become('backing-off')
  await clock.advance(30_000)
  t.equal(await decide(), 'refused')
  await clock.advance(1)
  t.equal(await decide(), 'table-not-ready')
  become('watching')
  t.equal(await decide(), 'refused')
})

t.test(
  'the Pod is marked before the watch tells that the Node is Unknown: the news is waited for',
  async t => {
    const { decide, list, change, clock } = scene()
    list({ ready: 'True' })
    const deciding = decide()
    await settle()
    change({ ready: 'True', taints: [] })
    await settle()
    change({ ready: 'Unknown' })
    t.equal(await deciding, 'refused')
    t.equal(clock.waiting, 0)
  },
)

t.test('… for a second at most, and then by nobody for half a minute', async t => {
  const { decide, list, clock } = scene()
  list({ ready: 'True' })
  const deciding = Promise.all([decide(), decide()])
  await settle()
  await clock.advance(1_000)
  t.strictSame(await deciding, ['heard', 'heard'])
  t.equal(await decide(), 'heard', 'at once')
  await clock.advance(30_000)
  const again = decide()
  await settle()
  t.equal(clock.waiting, 1)
  await clock.advance(1_000)
  t.equal(await again, 'heard')
})

t.test(
  'who sends reviews that no apiserver sent keeps none of the apiserver’s from waiting',
  async t => {
    const { decide, list, change, clock } = scene()
    list({ ready: 'True' })
    for (let i = 0; i < 3; i++) {
      const forged = decide(`stranger ${i}`)
      await settle()
      await clock.advance(1_000)
      t.equal(await forged, 'heard')
    }
    t.equal(await decide('stranger 0'), 'heard', 'at once')
    const deciding = decide()
    await settle()
    change({ ready: 'Unknown' })
    t.equal(await deciding, 'refused')
  },
)

t.test(
  'no review waits for a node that would not be kept, or while the watch is broken',
  async t => {
    for (const odds of [
      { ready: 'False' },
      { ready: 'True', isMarked: true },
      { ready: 'True', word: { status: 'False' } },
    ]) {
      const { decide, list, clock } = scene()
      list(odds)
      t.equal(await decide(), 'heard')
      t.equal(clock.waiting, 0)
    }
    const { decide, list, become } = scene()
    list({ ready: 'True' })
    become('backing-off')
    t.equal(await decide(), 'heard')
  },
)

t.test('at most a thousand reviews wait', async t => {
  const { list, table, clock } = scene()
  list({ ready: 'True' })
  const waits = Array.from({ length: 1_000 }, (_, at) => table.changed(`n${at % 7}`, 500))
  t.equal(await table.changed('n1', 500), false)
  await clock.advance(500)
  t.strictSame([...new Set(await Promise.all(waits))], [false])
  t.equal(clock.waiting, 0)
})

t.test('explained as decided', t => {
  const { list, table, clock } = scene()
  list({})
  const reviewer = new Reviewer(
    { rules: VOUCHED, untouched: new Set() },
    { table, clock, serverTime: () => STAMP },
  )
  t.equal(reviewer.knowledge.now, STAMP)
  t.equal(reviewer.knowledge.find('n1').kind, 'known')
  t.end()
})

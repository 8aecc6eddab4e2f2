// SPDX-License-Identifier: Apache-2.0
// Records of edges whose Nodes are gone, of many edges at once.
import t, { type Test } from 'tap'
import { GoneRecords, type GoneRecordsSeams } from '../../../bridge/run/recorder/gone-records.js'
import { KubeStatusError } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const GONE = 'gone' as NodeName

const answer = (status: number, reason: string): KubeStatusError =>
  new KubeStatusError('GET node', {
    ...{ status, reason, message: '', isFromApi: true },
    ...{ details: undefined, retryAfterMs: undefined },
  })

/** Records of so many Nodes without the label of edge nodes, and then of one that is gone. */
const bed = (t: Test, relabelled: number, more: Partial<GoneRecordsSeams> = {}) => {
  const clock = new FakeClock()
  const log = recordingLog()
  const nodes = new Set(Array.from({ length: relabelled }, (_, i) => `relabelled-${i}` as NodeName))
  const records = new Set([...nodes, GONE])
  const reads: string[] = []
  const drop = (node: NodeName): Promise<boolean> => Promise.resolve(records.delete(node))
  const get = (_type: unknown, { name }: { readonly name: string }) => {
    reads.push(name)
    return nodes.has(name as NodeName)
      ? Promise.resolve({})
      : Promise.reject(answer(404, 'NotFound'))
  }
  const end = new AbortController()
  const running = new GoneRecords({
    ...{ clock, log, random: seededRandom(1), drop },
    client: { get: get as GoneRecordsSeams['client']['get'] },
    recorded: () => [...records],
    isKnown: () => false,
    ...more,
  }).run(end.signal)
  t.teardown(async () => {
    end.abort()
    await running
  })
  return { clock, log, nodes, records, reads }
}

t.test('Nodes that lost their label do not keep the records of others', async t => {
  const rows = [
    [100, 26 * 100 + 1],
    [1_000, 26 * 7 * 100],
  ] as const
  for (const [relabelled, mostReads] of rows) {
    const { clock, nodes, records, reads } = bed(t, relabelled)
    await clock.advance(2 * HOUR)
    t.ok(reads.includes(GONE), `${relabelled} others`)
    const before = reads.length
    await clock.advance(DAY + 2 * HOUR)
    t.strictSame(records, nodes)
    t.ok(reads.length - before <= mostReads, 'once an hour each, and 100 in one pass')
  }
})

t.test('a Node that existed without the label has a day from when it is missed', async t => {
  const { clock, nodes, records } = bed(t, 1)
  await clock.advance(2 * DAY)
  const [node] = nodes
  nodes.clear()
  await clock.advance(DAY)
  t.ok(records.has(node!))
  await clock.advance(2 * HOUR)
  t.notOk(records.has(node!))
})

t.test('a record that cannot be deleted does not keep the others', async t => {
  const stuck = 'stuck' as NodeName
  const records = new Set([stuck, GONE])
  const { clock } = bed(t, 0, {
    recorded: () => [...records],
    drop: node =>
      node === stuck
        ? Promise.reject(answer(403, 'Forbidden'))
        : Promise.resolve(records.delete(node)),
  })
  await clock.advance(DAY + HOUR)
  t.strictSame([...records], [stuck])
})

// SPDX-License-Identifier: Apache-2.0
// Selectors of strangers: other work runs after a few objects that were held against them.
import type { ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import t from 'tap'
import { makeFormat } from '../../../wrapper/serve/formats.js'
import { select } from '../../../wrapper/serve/lists.js'
import type { Chosen } from '../../../wrapper/serve/selection.js'
import { parseTarget } from '../../../wrapper/serve/target.js'
import { Watches } from '../../../wrapper/serve/watches.js'
import { ROWS } from '../../../wrapper/store/resources.js'
import { seededRandom } from '../../../testkit/seeded-random.js'
import { makeStore, slice, type Thing } from '../wrapper-world.js'

const target = parseTarget('/apis/discovery.k8s.io/v1/endpointslices')!
const COUNT = 500
/** A watch looks at 64 changes in one turn, before and after each. */
const MOST = 128

const slices = (version: string): readonly Thing[] =>
  Array.from({ length: COUNT }, (_, n) =>
    slice(`web-${100 + n}`, 'web', ['a'], { version, labels: { version } }),
  )

/** Wants the last object, and counts the others. */
const counting = (): Chosen & { looked: number } => {
  const chosen = {
    looked: 0,
    ...{ key: undefined, isSelective: true },
    selection: ({ key }: { readonly key: string }) => {
      chosen.looked++
      return key === `default/web-${100 + COUNT - 1}`
    },
  }
  return chosen
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

t.test('a list looks at a few objects, then others have their turn', async t => {
  const world = makeStore()
  world.fill({ endpointslices: slices('1') })
  const state = { version: 1, records: world.store.table('endpointslices').list() }
  const chosen = counting()
  const selecting = select(state, chosen, new AbortController().signal)
  t.equal(chosen.looked, 64)
  const { records } = await selecting
  t.strictSame(records, state.records.slice(-1))
  t.equal(chosen.looked, COUNT)

  const leaving = new AbortController()
  const left = counting()
  const ended = select(state, left, leaving.signal)
  leaving.abort()
  await ended
  t.equal(left.looked, 64, 'for a client that has left it ends')
})

/** A client that reads all. */
class Reading extends Writable {
  text = ''
  writeHead(): void {
    // Nobody looks at it.
  }
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}

t.test('so do watches, of objects that they do not send', async t => {
  const world = makeStore()
  world.fill({ endpointslices: slices('1') })
  const watches = new Watches({ ...world, random: seededRandom(1), bookmarkMs: 60_000 })
  t.teardown(() => watches.stop())
  const format = makeFormat('json', ROWS.endpointslices, 'discovery.k8s.io/v1')
  const all = Array.from({ length: 16 }, () => ({ chosen: counting(), client: new Reading() }))
  for (const { chosen, client } of all) {
    const options = { version: 0, sendsInitial: undefined, bookmarks: false, seconds: undefined }
    watches.open({ target, chosen, options, format }, client as unknown as ServerResponse)
    t.equal(chosen.looked, 0)
  }
  /** Until all have looked at so many objects; they are told of the last one only. */
  const follow = async (wanted: number, events: number): Promise<void> => {
    let before = all[0]!.chosen.looked
    while (all[0]!.chosen.looked < wanted) {
      await turn()
      for (const { chosen } of all) t.equal(chosen.looked, all[0]!.chosen.looked)
      const { looked } = all[0]!.chosen
      if (looked - before > MOST) t.fail(`${looked - before} in one turn`)
      before = looked
    }
    await turn()
    for (const { client } of all) t.equal(client.text.split('\n').length - 1, events)
  }
  await follow(COUNT, 1)
  for (const { chosen } of all) chosen.looked = 0
  world.replace('endpointslices', ...slices('2'))
  t.ok(all[0]!.chosen.looked <= MOST, 'whoever brought the changes goes on')
  await follow(2 * COUNT, 2)
  t.match(all[15]!.client.text, /"ADDED".*\n.*"MODIFIED"/)
})

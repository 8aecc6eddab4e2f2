// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { DesiredMarks } from '../../../../plan/node-plan.js'
import { UnknownNodes } from '../../../../agent/stages/write/unknown-nodes.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'

const HOUR_MS = 3_600_000

/** Ours to look at are those whose names begin with `our`. */
const make = () => {
  const unknown = new UnknownNodes(seededRandom(1))
  let asked = 0
  const isFirst = (node: string): boolean => {
    asked++
    return node.startsWith('our')
  }
  return {
    unknown,
    begin: (now: number, size = 5) => unknown.begin({ now, size, isFirst }),
    get asked() {
      return asked
    },
  }
}

t.test('who moved has to be read by everybody whose turn comes, until it is known', async t => {
  const { unknown, begin } = make()
  begin(0)
  t.notOk(unknown.note('n2', 'healthy'), 'as it was when we came')
  t.notOk(unknown.mustLook('n2', 'healthy'))
  t.ok(unknown.note('n2', 'dead'), 'what was known of it is over')
  t.notOk(unknown.note('n2', 'dead'), 'once')
  t.ok(unknown.mustLook('n2', 'dead'))
  t.notOk(unknown.note('n2', 'keep'))
  t.notOk(unknown.mustLook('n2', 'keep'), 'nobody asks for anything')
  t.ok(unknown.note('n2', 'healthy'))
  t.ok(unknown.mustLook('n2', 'healthy'))
  unknown.settled('n2')
  t.notOk(unknown.mustLook('n2', 'healthy'))
  t.ok(make().unknown.note('n3', 'vouched'), 'marked by somebody before us')
})

t.test(
  'what was left over is looked for by the first in the order, until that has looked',
  async t => {
    const { unknown, begin } = make()
    begin(0)
    t.ok(unknown.mustLook('our', 'healthy'))
    begin(1_000)
    t.ok(unknown.mustLook('our', 'healthy'), 'until it was read')
    t.notOk(unknown.mustLook('other', 'healthy'))
    unknown.settled('our')
    t.notOk(unknown.mustLook('our', 'healthy'))
    begin(1.2 * HOUR_MS)
    t.notOk(unknown.isOld('our', 'healthy'))
    begin(2.8 * HOUR_MS)
    t.notOk(unknown.isOld('our', 'dead'), 'whom we marked others follow')
    t.ok(unknown.isOld('our', 'healthy'), 'and again two hours later')
    t.ok(unknown.mustLook('our', 'healthy'))
  },
)

t.test('who was in doubt is read again, and once more when late writes have landed', async t => {
  const { unknown, begin } = make()
  /** Whether it is read; by then it is known. */
  const look = (now: number, node: string, desired: DesiredMarks): boolean => {
    begin(now)
    const isOver = unknown.note(node, desired) || unknown.isOld(node, desired)
    const isRead = isOver && unknown.mustLook(node, desired)
    if (isRead && desired === 'healthy') unknown.settled(node)
    return isRead
  }
  /** When it is read, looked at every second. */
  const until = (from: number, to: number, node: string, desired: DesiredMarks): number[] => {
    const times: number[] = []
    for (let now = from; now < to; now += 1_000) if (look(now, node, desired)) times.push(now)
    return times
  }
  look(0, 'our', 'keep')
  t.strictSame(until(1_000, 60_000, 'our', 'healthy'), [1_000], 'nobody knows yet: no doubt')
  t.strictSame(until(60_000, 70_000, 'our', 'keep'), [], 'others may have marked it')
  t.equal(unknown.askAt(), Infinity)
  t.strictSame(until(70_000, 75_000, 'our', 'healthy'), [70_000])
  t.equal(unknown.askAt(), 90_000)
  t.strictSame(until(75_000, 76_000, 'our', 'keep'), [])
  t.strictSame(until(76_000, 78_000, 'our', 'healthy'), [], 'who comes and goes')
  t.strictSame(until(78_000, 80_000, 'our', 'keep'), [])
  t.strictSame(until(80_000, 200_000, 'our', 'healthy'), [90_000, 100_000])
  t.equal(unknown.askAt(), Infinity)

  look(200_000, 'other', 'healthy')
  look(201_000, 'other', 'keep')
  t.strictSame(until(202_000, 300_000, 'other', 'healthy'), [], 'the first in its order looks')
  t.equal(unknown.askAt(), Infinity)
  look(300_000, 'ours too', 'dead')
  const back = until(301_000, 400_000, 'ours too', 'healthy')
  t.strictSame(back, [301_000, 321_000], 'it was dead when we came')
})

t.test('whose turn it is is asked of few at once, and rarely in a large zone', async t => {
  const zone = make()
  const names = Array.from({ length: 120 }, (_, i) => `n${i}`)
  const review = (now: number): number => {
    const before = zone.asked
    zone.begin(now, 1000)
    for (const name of names) zone.unknown.mustLook(name, 'healthy')
    return zone.asked - before
  }
  t.strictSame([review(0), review(1_000), review(2_000), review(3_000)], [40, 40, 40, 0])
  t.equal(review(6_900_000), 0)
  t.equal(review(13_100_000), 40)
})

t.test('who is undecided for long may carry a mark', async t => {
  const { unknown, begin } = make()
  const at = (now: number, isUndecided: boolean): boolean => {
    begin(now)
    return unknown.staysUndecided('n2', isUndecided)
  }
  t.strictSame(
    [at(0, true), at(29_999, true), at(30_000, true), at(30_001, false), at(60_000, true)],
    [false, false, true, false, false],
  )
})

t.test('who left is forgotten', async t => {
  const { unknown, begin } = make()
  begin(0)
  unknown.note('n2', 'dead')
  unknown.note('our', 'healthy')
  unknown.mustLook('our', 'healthy')
  unknown.staysUndecided('n2', true)
  unknown.note('n2', 'healthy')
  t.equal(unknown.askAt(), 500)
  unknown.keepOnly(() => false)
  begin(40_000)
  t.notOk(unknown.mustLook('n2', 'healthy'))
  t.notOk(unknown.staysUndecided('n2', true))
  t.equal(unknown.askAt(), Infinity)
  t.ok(unknown.note('n2', 'dead'), 'it is new')
})

t.test('who rests does so until it is time to ask, or until it was not healthy', async t => {
  const { unknown, begin } = make()
  begin(0)
  t.notOk(unknown.rests('n2'), 'nobody said so')
  unknown.rest('n2')
  t.notOk(unknown.rests('n2'), 'it is time to ask')
  unknown.note('n2', 'healthy')
  t.notOk(unknown.mustLook('n2', 'healthy'))
  t.ok(unknown.rests('n2'))
  begin(1.2 * HOUR_MS)
  t.ok(unknown.rests('n2'))
  begin(2.8 * HOUR_MS)
  t.notOk(unknown.rests('n2'), 'two hours later it is time again')
  for (const doubt of ['keep', 'dead', 'vouched'] as const) {
    const [node, later] = [`n-${doubt}`, HOUR_MS]
    begin(0)
    unknown.note(node, 'healthy')
    unknown.mustLook(node, 'healthy')
    unknown.rest(node)
    t.ok(unknown.rests(node))
    begin(later)
    unknown.note(node, doubt)
    begin(later + 1_000)
    unknown.note(node, 'healthy')
    t.notOk(unknown.rests(node), doubt)
  }
  begin(0)
  unknown.note('gone', 'healthy')
  unknown.mustLook('gone', 'healthy')
  unknown.rest('gone')
  unknown.keepOnly(node => node !== 'gone')
  t.notOk(unknown.rests('gone'))
})

t.test('who becomes ours to read rests no more until it was read', async t => {
  const unknown = new UnknownNodes(seededRandom(1))
  let isFirst = false
  const begin = (now: number) => unknown.begin({ now, size: 5, isFirst: () => isFirst })
  begin(0)
  unknown.note('n2', 'healthy')
  t.notOk(unknown.mustLook('n2', 'healthy'))
  unknown.rest('n2')
  t.ok(unknown.rests('n2'))
  // The agent before us in the order has gone.
  isFirst = true
  begin(3 * HOUR_MS)
  t.notOk(unknown.rests('n2'))
  t.ok(unknown.mustLook('n2', 'healthy'))
  // The read waits for a majority, and may fail.
  begin(3 * HOUR_MS + 500)
  t.notOk(unknown.rests('n2'))
  t.ok(unknown.mustLook('n2', 'healthy'))
})

t.test('whom a look had no room for does not rest', async t => {
  const { unknown, begin } = make()
  begin(0, 100)
  for (let n = 0; n < 100; n++) {
    unknown.note(`n${n}`, 'healthy')
    unknown.mustLook(`n${n}`, 'healthy')
    unknown.rest(`n${n}`)
  }
  t.notOk(unknown.isCaughtUp)
  t.ok(unknown.rests('n0'))
  t.notOk(unknown.rests('n99'))
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { ResumePoint, type WatchEnd } from '../../../kube/client/resume-point.js'

const SILENT: WatchEnd = {
  ...{ hasSpoken: false, length: 1, bookmarks: true, isEarly: false, hasReplayed: false },
}
const QUIET: WatchEnd = { ...SILENT, bookmarks: false }

/** Let watches end like this; lists where one is needed. @returns how many lists that took */
const endAll = (point: ResumePoint, ends: readonly WatchEnd[]): number => {
  let lists = 0
  for (const end of ends) {
    point.ended(end)
    if (point.version !== undefined) continue
    point.listed('7')
    lists++
  }
  return lists
}

const times = (count: number, end: WatchEnd): readonly WatchEnd[] =>
  Array.from({ length: count }, () => end)

const make = (): ResumePoint => {
  const point = new ResumePoint(() => undefined)
  point.listed('7')
  return point
}

t.test(
  'after an error two silent watches ask for a list, however many quiet ones came before',
  async t => {
    for (const before of [0, 1, 2, 50, 101]) {
      const point = make()
      t.equal(endAll(point, times(before, QUIET)), Math.floor(before / 2))
      point.failed(new Error('the connection broke'))
      t.notOk(point.isConfirmed)
      point.ended(SILENT)
      t.equal(point.version, '7')
      point.ended(SILENT)
      t.equal(point.version, undefined, `after ${before} quiet watches`)
    }
  },
)

t.test('lists become rarer where watches that ask for bookmarks get none', async t => {
  const point = make()
  t.equal(endAll(point, times(2 + 4 + 8, SILENT)), 3)
  t.equal(endAll(point, times(15, SILENT)), 0)
  point.ended({ ...SILENT, hasSpoken: true })
  t.equal(endAll(point, times(2, SILENT)), 1, 'until something is heard')
})

t.test('a watch that ends before its time leaves in doubt who answers next', async t => {
  const point = make()
  point.ended(QUIET)
  t.ok(point.isConfirmed)
  point.ended({ ...QUIET, length: 0.1, isEarly: true })
  t.notOk(point.isConfirmed)
  point.reached('8')
  t.ok(point.isConfirmed)
  point.ended({ ...QUIET, hasSpoken: true, isEarly: true })
  t.notOk(point.isConfirmed, 'what it said was said before')
})

t.test('a bookmark never goes back, where versions are numbers', async t => {
  const point = make()
  point.marked('7')
  point.marked('10')
  t.throws(() => point.marked('9'), { message: 'the version went back from 10 to 9' })
  t.equal(point.version, '10')
  point.listed('opaque')
  point.marked('another')
  t.equal(point.version, 'another')
})

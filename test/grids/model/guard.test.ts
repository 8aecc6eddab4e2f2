// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { guardUnits, holdToken, type GuardQuestion } from '../../../grids/model/guard.js'
import fc from '../../../testkit/properties.js'

const GRACE = 300_000
const NOW = 1_000_000_000
const units = (count: number, from = 0): readonly string[] =>
  Array.from({ length: count }, (_, at) => `u${at + from}`)
const question = (
  present: readonly string[],
  gone: Readonly<Record<string, number | undefined>>,
  more: Partial<GuardQuestion> = {},
): GuardQuestion => ({
  present,
  gone: new Map(Object.entries(gone)),
  confirmed: undefined,
  now: NOW,
  graceMs: GRACE,
  ...more,
})

t.test('grace', t => {
  const rows: [
    claim: string,
    since: number | undefined,
    remove: readonly string[],
    waiting: Record<string, number>,
    nextAt: number | undefined,
  ][] = [
    ['just gone: its time begins', undefined, [], { x: NOW }, NOW + GRACE],
    ['a minute ago', NOW - 60_000, [], { x: NOW - 60_000 }, NOW + GRACE - 60_000],
    ['a moment before', NOW - GRACE + 1, [], { x: NOW - GRACE + 1 }, NOW + 1],
    ['the grace is over', NOW - GRACE, ['x'], {}, undefined],
    ['long ago', 0, ['x'], {}, undefined],
    ["another clock's tomorrow is now", NOW + 86_400_000, [], { x: NOW }, NOW + GRACE],
  ]
  for (const [claim, since, remove, waiting, nextAt] of rows)
    t.strictSame(
      guardUnits(question(units(9), { x: since })),
      {
        remove,
        waiting: new Map(Object.entries(waiting)),
        hold: undefined,
        agreed: undefined,
        nextAt,
      },
      claim,
    )
  t.strictSame(guardUnits(question(units(9), {})), {
    remove: [],
    waiting: new Map(),
    hold: undefined,
    agreed: undefined,
    nextAt: undefined,
  })
  t.end()
})

const over = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, 0]))
const at = (gone: Readonly<Record<string, number | undefined>>): ReadonlyMap<string, number> =>
  new Map(Object.entries(gone).map(([unit, since = NOW]) => [unit, since]))

t.test('many at once are held', t => {
  const rows: [claim: string, present: number, gone: number, reason: string | undefined][] = [
    ['40 % of 5 go', 3, 2, undefined],
    ['41 of 100 do not', 59, 41, 'TooManyUnitsGone'],
    ['40 of 100 go', 60, 40, undefined],
    ['half of two', 1, 1, 'TooManyUnitsGone'],
    ['one of three goes', 2, 1, undefined],
    ['1.2: the only one', 0, 1, 'AllUnitsGone'],
    ['all of many', 0, 1000, 'AllUnitsGone'],
  ]
  for (const [claim, present, gone, reason] of rows) {
    const names = units(gone, 1000)
    const answer = guardUnits(question(units(present), over(names)))
    t.equal(answer.hold?.reason, reason, claim)
    if (reason === undefined) {
      t.strictSame(answer.remove, names, claim)
      continue
    }
    t.strictSame(
      [answer.remove, answer.nextAt],
      [[], undefined],
      'nothing goes, even what is overdue',
    )
    t.match(answer.hold, { units: names, total: present + gone, token: holdToken(at(over(names))) })
    t.equal(answer.waiting.size, gone)
  }
  t.end()
})

t.test('several small removals count as one', t => {
  const ask = (present: number, removed: readonly string[]) =>
    guardUnits(question(units(present), over(['x']), { removed: new Set(removed) })).hold
  t.equal(ask(5, []), undefined)
  t.match(ask(5, ['y', 'z', 'v']), { reason: 'TooManyUnitsGone', units: ['x'], total: 9 })
  t.equal(ask(5, ['u0', 'u1', 'u2']), undefined, 'those that are back do not count')
  t.end()
})

t.test('a confirmation removes exactly these units', t => {
  const both = at(over(['b', 'a']))
  const confirmed = holdToken(both)
  t.match(confirmed, /^[0-9a-f]{8}$/)
  t.equal(holdToken(at(over(['a', 'b']))), confirmed, 'in any order')
  t.strictSame(guardUnits(question([], over(['a', 'b']), { confirmed })).remove, ['a', 'b'])
  t.match(
    guardUnits(question([], over(['a', 'b', 'c']), { confirmed })),
    { remove: [], hold: { reason: 'AllUnitsGone' } },
    'not others too',
  )
  t.match(guardUnits(question([], over(['a']), { confirmed: 'yes' })), {
    remove: [],
    hold: { reason: 'AllUnitsGone' },
  })
  t.match(
    guardUnits(question([], { a: 0, b: 1 }, { confirmed })),
    { remove: [], hold: { reason: 'AllUnitsGone' } },
    'nor the same at another time',
  )
  const left = guardUnits(question([], over(['a']), { confirmed, agreed: both }))
  t.strictSame([left.remove, left.hold], [['a'], undefined], 'what is left of them, too')
  const other = guardUnits(question([], { a: 1 }, { confirmed, agreed: both }))
  t.equal(other.hold?.reason, 'AllUnitsGone', 'not what came back meanwhile')
  const late = { a: NOW - 1_000, b: 0 }
  const young = guardUnits(question([], late, { confirmed: holdToken(at(late)) }))
  t.strictSame(
    [young.remove, [...young.waiting.keys()], young.nextAt],
    [[], ['a', 'b'], NOW - 1_000 + GRACE],
    'all together, after the grace of the last',
  )
  t.end()
})

t.test(
  'whatever is asked: nothing present goes, nothing goes before its grace, and nobody is forgotten',
  t => {
    const name = fc.constantFrom(...units(8))
    const scene = fc.record({
      present: fc.uniqueArray(name),
      gone: fc.dictionary(
        name,
        fc.option(fc.integer({ min: NOW - 2 * GRACE, max: NOW + GRACE }), { nil: undefined }),
      ),
      isConfirmed: fc.boolean(),
    })
    fc.assert(
      fc.property(scene, ({ present, gone, isConfirmed }) => {
        const left = Object.fromEntries(
          Object.entries(gone).filter(([unit]) => !present.includes(unit)),
        )
        const confirmed = isConfirmed ? holdToken(at(left)) : undefined
        const { remove, waiting, hold } = guardUnits(question(present, left, { confirmed }))
        const share = Object.keys(left).length / (Object.keys(left).length + present.length)
        return (
          remove.every(unit => left[unit] !== undefined && left[unit] <= NOW - GRACE) &&
          Object.keys(left).every(unit => remove.includes(unit) !== waiting.has(unit)) &&
          (hold === undefined || remove.length === 0) &&
          (share <= 0.4 || isConfirmed || Object.keys(left).length === 0 || hold !== undefined)
        )
      }),
      { numRuns: 1000 },
    )
    t.end()
  },
)

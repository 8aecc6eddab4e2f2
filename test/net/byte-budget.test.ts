// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { ByteBudget, type Source } from '../../net/byte-budget.js'

const member = (key: string): Source => ({ key, isMember: true })
const stranger = (key: string): Source => ({ key, isMember: false })
const full = { code: 'OVER_BUDGET' }

t.test('FW5: the total holds, whatever is sent at once', async t => {
  const budget = new ByteBudget({ total: 10, perSource: 10 })
  const first = budget.open(stranger('a'))
  first.take(6)
  const second = budget.open(stranger('b'))
  t.throws(() => second.take(5), {
    ...full,
    message: 'cannot buffer 5 more bytes of a body from b: the limit is reached',
  })
  t.equal(budget.held, 6, 'what was refused is not held')
  second.take(4)
  first.free()
  first.free()
  t.equal(budget.held, 4, 'given back once')
  second.take(6)
  second.free()
  t.equal(budget.held, 0)
})

t.test('of one source the largest body is dropped for smaller ones', async t => {
  const budget = new ByteBudget({ total: 30, perSource: 10 })
  const evicted: string[] = []
  const open = (name: string) => budget.open(member('m'), () => evicted.push(name))
  const [large, middle, small] = [open('large'), open('middle'), open('small')] as const
  large.take(6)
  middle.take(4)
  t.throws(() => middle.take(3), full, 'who would be the largest himself')
  small.take(2)
  t.strictSame(evicted, ['large'])
  t.equal(budget.held, 6)
  t.throws(() => large.take(1), full, 'it is over')
  large.free()
  t.equal(budget.held, 6, 'nothing is given back twice')
  budget.open(member('n')).take(10)
  t.equal(budget.held, 16, 'others have their own')
  small.free()
  middle.free()
  t.equal(budget.held, 10)
  const kept = budget.open(stranger('s'))
  kept.take(10)
  t.throws(() => budget.open(stranger('s')).take(1), full, 'who would not be told never gives way')
})

t.test('FA23: one source has its share, strangers leave what is reserved for members', async t => {
  const budget = new ByteBudget({ total: 10, perSource: 4, reserved: 3 })
  budget.open(stranger('a')).take(4)
  t.throws(() => budget.open(stranger('a')).take(4), full, 'over all bodies of a source')
  budget.open(stranger('b')).take(3)
  t.throws(() => budget.open(stranger('c')).take(1), full, 'strangers have had theirs')
  const known = budget.open(member('m'))
  known.take(3)
  t.throws(() => budget.open(member('n')).take(1), full, 'the total is for all')
  known.free()
  budget.open(member('n')).take(3)
  t.equal(budget.held, 10)
})

t.test(
  'when all is used up, of the stranger who holds most the largest body gives way',
  async t => {
    const budget = new ByteBudget({ total: 24, perSource: 12, reserved: 4 })
    const evicted: string[] = []
    const open = (source: Source, name: string) => budget.open(source, () => evicted.push(name))
    open(stranger('a'), 'a large').take(7)
    open(stranger('a'), 'a small').take(4)
    open(stranger('b'), 'b').take(9)
    const late = open(stranger('c'), 'c')
    late.take(3)
    t.strictSame(evicted, ['a large'])
    late.take(5)
    t.strictSame(evicted, ['a large', 'b'], 'as long as that one would hold less')
    t.equal(budget.held, 12)
    const known = open(member('m'), 'm')
    known.take(12)
    t.throws(() => late.take(1), full, 'a member gives way to no stranger')
    open(member('n'), 'n').take(2)
    t.strictSame(evicted, ['a large', 'b', 'c'], 'strangers do to a member')
    const small = new ByteBudget({ total: 4, perSource: 4 })
    small.open(stranger('d')).take(4)
    t.throws(() => small.open(stranger('e')).take(3), full, 'who would not be told never gives way')
  },
)

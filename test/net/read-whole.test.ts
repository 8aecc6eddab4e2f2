// SPDX-License-Identifier: Apache-2.0
import { Readable } from 'node:stream'
import t from 'tap'
import { ByteBudget } from '../../net/byte-budget.js'
import { readWhole } from '../../net/read-whole.js'

const tooLarge = (): Error => new RangeError('more than 5')
const read = (...parts: string[]): Promise<Buffer> =>
  readWhole(Readable.from(parts.map(part => Buffer.from(part))), 5, tooLarge)

t.test('a stream is read to its end, and no further than its limit', async t => {
  t.equal((await read()).length, 0)
  t.equal((await read('ab', '', 'cde')).toString(), 'abcde')
  await t.rejects(read('abc', 'def'), { name: 'RangeError', message: 'more than 5' })
  let asked = 0
  const endless = async function* (): AsyncGenerator<Buffer> {
    for (;;) yield await Promise.resolve(Buffer.alloc(++asked))
  }
  await t.rejects(readWhole(endless(), 5, tooLarge))
  t.equal(asked, 3, 'what comes behind the limit is not asked for')
  const broken = new Readable({ read: () => broken.destroy(new Error('reset')) })
  await t.rejects(readWhole(broken, 5, tooLarge), { message: 'reset' })
})

t.test('FA23: memory grows with what has come, and only while the budget has room', async t => {
  const budget = new ByteBudget({ total: 23_000, perSource: 23_000 })
  const hold = budget.open({ key: 'a', isMember: false })
  const held: number[] = []
  const trickle = async function* (pieces: readonly number[]): AsyncGenerator<Buffer> {
    for (const [index, length] of pieces.entries()) {
      held.push(budget.held)
      yield await Promise.resolve(Buffer.alloc(length, index))
    }
  }
  const pieces = [1, 4_000, 5_000, 1, 0, 9_000]
  const whole = await readWhole(trickle(pieces), 1 << 20, tooLarge, hold)
  const sent = pieces.map((length, index) => Buffer.alloc(length, index))
  t.ok(whole.equals(Buffer.concat(sent)), 'put together in order')
  t.strictSame(held, [0, 4_096, 4_096, 9_096, 13_192, 13_192], 'small pieces share a block')
  hold.free()
  const next = budget.open({ key: 'a', isMember: false })
  const tooMuch = readWhole(trickle([9_000, 9_000, 9_000]), 1 << 20, tooLarge, next)
  await t.rejects(tooMuch, { code: 'OVER_BUDGET' })
  t.equal(budget.held, 18_000, 'until it is freed')
  next.free()
  t.equal(budget.held, 0)
})

// SPDX-License-Identifier: Apache-2.0
import { Readable } from 'node:stream'
import t from 'tap'
import { readWhole } from '../../core/read-whole.js'

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

// SPDX-License-Identifier: Apache-2.0
import t, { type Test } from 'tap'
import { share, shareOf } from '../../testkit/share.js'

const withShare = (t: Test, isAsked: boolean): { readonly t: Test; readonly said: string[] } => {
  const said: string[] = []
  const before = process.env['TEST_SHARE']
  process.env['TEST_SHARE'] = isAsked ? '1' : ''
  t.teardown(() => {
    process.env['TEST_SHARE'] = before ?? ''
  })
  return { t: { comment: (text: string) => said.push(text) } as unknown as Test, said }
}

t.test('a share is the first cases, and what is left out is told', async t => {
  const asked = withShare(t, true)
  t.strictSame(share(asked.t, ['a', 'b', 'c'], 1, 'letters'), ['a'])
  t.equal(shareOf(asked.t, 200, 20, 'zones'), 20)
  t.strictSame(asked.said, ['left out: 2 of 3 letters', 'left out: 180 of 200 zones'])
})

t.test('nothing is told where nothing is left out', async t => {
  const asked = withShare(t, true)
  t.strictSame(share(asked.t, ['a', 'b'], 2, 'letters'), ['a', 'b'])
  t.equal(shareOf(asked.t, 3, 20, 'zones'), 3)
  t.strictSame(asked.said, [])
})

t.test('every case is played where no share is asked for', async t => {
  const whole = withShare(t, false)
  t.strictSame(share(whole.t, ['a', 'b', 'c'], 1, 'letters'), ['a', 'b', 'c'])
  t.equal(shareOf(whole.t, 200, 20, 'zones'), 200)
  t.strictSame(whole.said, [])
})

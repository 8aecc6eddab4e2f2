// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { generateNodeKeys } from '../../../../agent/identity/node-keys.js'
import type { Pin } from '../../../../agent/identity/pins.js'
import { parsePins, rememberPins } from '../../../../agent/stages/identity/remembered-pins.js'
import { InvalidInputError } from '../../../../core/errors.js'
import { parseNodeName } from '../../../../core/ids.js'

const pin = (n: number): Pin => ({
  ...{ node: parseNodeName(`node-${n}`), uid: `u-${n}`, generation: n },
  keys: generateNodeKeys().public,
})

t.test('what was remembered is read again', async t => {
  const pins = [pin(1), pin(2), pin(1_000)]
  t.strictSame(parsePins(rememberPins(pins)), pins)
  t.strictSame(parsePins(rememberPins([])), [])
})

t.test('a broken file is refused as a whole', async t => {
  const good = JSON.parse(rememberPins([pin(1), pin(2)])) as {
    members: Record<string, unknown>[]
  }
  const withFirst = (change: Record<string, unknown>): string => {
    const [first, ...more] = good.members
    return JSON.stringify({ ...good, members: [{ ...first, ...change }, ...more] })
  }
  const key = Buffer.alloc(32, 7).toString('base64url')
  t.equal(parsePins(withFirst({ signing: key })).length, 2, 'the rows below break one thing alone')
  for (const [why, text] of [
    ['no JSON', '{'],
    ['another version', JSON.stringify({ ...good, version: 2 })],
    ['no list', JSON.stringify({ version: 1 })],
    ['no node', withFirst({ node: undefined })],
    ['no name of a node', withFirst({ node: '../x' })],
    ['no uid', withFirst({ uid: 5 })],
    ['generation 0', withFirst({ generation: 0 })],
    ['half a generation', withFirst({ generation: 1.5 })],
    ['a short key', withFirst({ signing: key.slice(0, -1) })],
    ['a long key', withFirst({ agreement: `${key}A` })],
    ['not base64url', withFirst({ agreement: `+${key.slice(1)}` })],
  ] as const)
    t.throws(() => parsePins(text), InvalidInputError, why)
})

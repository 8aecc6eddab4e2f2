// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { UnitLane } from '../cell.js'
import { drawPicture } from './unit-picture.js'

const lane: UnitLane = {
  title: 'north, wrapper',
  connections: [
    { at: 100, unit: 'north', by: 'north' },
    { at: 200, unit: 'north', by: 'north' },
    { at: 300, unit: 'north', by: 'south' },
    { at: 1_700, unit: 'north', by: undefined },
    { at: 1_800, unit: 'south', by: 'south' },
  ],
}

t.test('connections are counted by where they were answered, each second', async t => {
  const moments = [
    { at: 5_000, kind: 'fault', text: 'the cloud <is> cut' },
    { at: 6_000, kind: 'claim', text: 'not drawn' },
  ] as const
  const svg = drawPicture([lane], moments, 10_000)
  t.match(svg, '3 inside, 1 outside, 1 failed')
  t.match(svg, '0.0 s: 2 answered in its own unit, 1 answered in another unit, 0 not answered')
  t.match(svg, '1.0 s: 1 answered in its own unit, 0 answered in another unit, 1 not answered')
  t.equal(svg.match(/<rect [^>]*fill="#5aa469"/g)?.length, 3, 'a bar in each second, and the key')
  t.match(svg, '1: 5.0 s: the cloud &lt;is> cut')
  t.notMatch(svg, 'not drawn')
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { Lane } from './cell.js'
import { drawTraffic } from './traffic-picture.js'

const lane: Lane = {
  title: 'wrapper, iptables',
  knew: [
    { from: 0, backends: undefined, isWrong: false },
    { from: 1_000, backends: 3, isWrong: false },
    { from: 4_000, backends: 3, isWrong: true },
    { from: 6_000, backends: 2, isWrong: false },
  ],
  asked: 80,
  failed: [4_100, 4_300, 4_900],
}

t.equal(drawTraffic([], 10_000), '', 'a cell without connections has no such picture')

t.test('stretches of what a kernel knew, and failures by the half second', async t => {
  const svg = drawTraffic([lane], 10_000)
  const titles = [...svg.matchAll(/<title>([^<]*)<\/title>/g)].map(([, text]) => text)
  t.same(titles, [
    '0.0 s: no rules',
    '1.0 s: 3 backends',
    '4.0 s: 3 backends, one of them dead',
    '6.0 s: 2 backends',
    '4.0 s: 2 failed',
    '4.5 s: 1 failed',
  ])
  t.match(svg, '3 of 80 failed')
  const wide = drawTraffic([lane], 20_000)
  const widthOf = (text: string): number => Number(/width="([\d.]+)"/.exec(text)![1])
  t.equal(Math.round(widthOf(svg) / widthOf(wide)), 2, 'it is drawn to the length of the cell')
})

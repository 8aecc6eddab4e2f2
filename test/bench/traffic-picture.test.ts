// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { drawTraffic } from '../../bench/traffic-picture/draw.js'

const DAY_S = 86_400
const MEGABYTE = 1_000_000

/** A day in which so many megabytes went each way. */
const run = (nodes: number, megabytes: number) => ({
  nodes,
  link: {
    seconds: DAY_S,
    entries: (['apiserver', 'peers', 'kubelets'] as const).flatMap(end =>
      (['sent', 'received'] as const).flatMap(direction =>
        (['request', 'ack'] as const).map(kind => ({
          ...{ end, direction, kind, packets: 1 },
          bytes: (kind === 'ack' ? 1 : 3) * megabytes * MEGABYTE,
        })),
      ),
    ),
  },
})

t.test('each other end has a bar for each size, both ways added up, by kind', async t => {
  const picture = drawTraffic([run(10, 1), run(100, 2)])
  const rects = [
    ...picture.matchAll(
      /<rect class="(\w+)" x="([\d.]+)" [^>]*width="([\d.]+)"[^>]*><title>([^<]+)</g,
    ),
  ].map(([, kind, x, width, title]) => [kind, Number(x), Number(width), title])
  const block = [
    ['request', 110, 270, 'request: 6.00 MB'],
    ['ack', 380, 90, 'ack: 2.00 MB'],
    ['request', 110, 540, 'request: 12.00 MB'],
    ['ack', 650, 180, 'ack: 4.00 MB'],
  ]
  t.strictSame(rects, [...block, ...block, ...block])
  t.match(picture, />8\.0<\/text>/)
  t.match(picture, />16<\/text>/)
  t.match(picture, /agents of the zone, N=100: request 12\.00, ack 4\.00/)
  t.notMatch(picture, /handshake<\/text>/, 'what did not occur is not in the legend')
})

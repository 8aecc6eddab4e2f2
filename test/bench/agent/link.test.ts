// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { apiAddress, figuresOf, sidesOf } from '../../../bench/agent/link.js'
import { castOf, KUBELET_PORT, LOCAL_PORT, PEER_PORT } from '../../../bench/agent/world/cast.js'

const BLOCK = 90
const [agent, peer] = castOf(2, BLOCK).members
const sides = sidesOf(agent!, BLOCK)
const loopback = { address: '127.0.0.1', port: 40_000 }
const at = (address: string, port: number) => ({ address, port })

t.test('the other end is named by its address and port', async t => {
  const other = peer!.address
  t.equal(sides.endOf(at(apiAddress(BLOCK), 6_443), loopback), 'apiserver')
  t.equal(sides.endOf(at(other, KUBELET_PORT), loopback), 'kubelets')
  t.equal(sides.endOf(at(other, PEER_PORT), loopback), 'peers')
  t.equal(sides.endOf(at(other, 40_000), at(agent!.address, PEER_PORT)), 'peers')
  t.equal(sides.endOf(at(other, 40_000), at(agent!.address, LOCAL_PORT)), undefined)
})

t.test(
  'what the world says to the apiserver, and what stays on the node, is not of the link',
  async t => {
    t.ok(sides.isOurs(loopback))
    t.ok(sides.isOurs(at(agent!.address, LOCAL_PORT)))
    t.notOk(sides.isOurs(at(apiAddress(BLOCK), 6_443)))
    t.notOk(sides.isOurs(at(peer!.address, PEER_PORT)))
  },
)

t.test('what left for peers and kubelets, and all of the cloud link a day', async t => {
  const entry = (end: string, direction: 'sent' | 'received', bytes: number) =>
    ({ end, direction, kind: 'request', packets: 1, bytes }) as const
  const entries = [
    ...[entry('peers', 'sent', 1_000), entry('peers', 'received', 50_000)],
    ...[entry('kubelets', 'sent', 500), entry('apiserver', 'sent', 100)],
    entry('apiserver', 'received', 900),
  ]
  t.same(figuresOf({ entries, seconds: 10 }), {
    sentToZonePerSecond: 150,
    cloudMegabytesADay: 8.64,
  })
})

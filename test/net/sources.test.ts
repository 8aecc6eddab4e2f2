// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { byAddress, endOf, networkOf, plainAddress } from '../../net/sources.js'

t.test('FA5: a source is an IPv4 address, or a /64 of IPv6', async t => {
  const rows: readonly (readonly [string, string])[] = [
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
    ['', ''],
  ]
  for (const [address, network] of rows) t.equal(networkOf(address), network, address)
  t.equal(plainAddress('::ffff:a'), '::ffff:a')
  const socket = { remoteAddress: undefined, remotePort: undefined }
  t.strictSame(endOf(socket), { address: '', port: 0, socket })
})

t.test('FA5: a member is itself, whoever shares its network', async t => {
  const members = new Set(['fd00::1', '10.0.0.1'])
  const sources = byAddress(address => members.has(address))
  const keyOf = (address: string): string => sources.keyOf({ address, port: 1 })
  t.equal(keyOf('fd00::1'), 'fd00::1')
  t.equal(keyOf('fd00::2'), 'fd00:0:0:0::/64')
  t.ok(sources.isMember(keyOf('fd00::1')))
  t.notOk(sources.isMember(keyOf('fd00::2')))
  t.ok(sources.isMember(keyOf('::ffff:10.0.0.1')))
})

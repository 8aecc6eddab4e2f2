// SPDX-License-Identifier: Apache-2.0
import type { NetworkInterfaceInfo } from 'node:os'
import t from 'tap'
import { makeOwnAddresses } from '../../../agent/adapters/own-addresses.js'
import { FakeClock } from '../../../testkit/fake-clock.js'

t.test('which addresses end on the own machine', async t => {
  const clock = new FakeClock()
  const at = (...addresses: readonly string[]) =>
    addresses.map(address => ({ address }) as NetworkInterfaceInfo)
  let bridges = at('172.17.0.1')
  let reads = 0
  const isOwn = makeOwnAddresses(clock, () => {
    reads++
    return { eth0: at('10.0.0.1', 'fd00::1'), docker0: bridges, none: undefined }
  })
  for (const address of ['127.0.0.1', '127.3.2.1', '::1', '0.0.0.0', '::'])
    t.equal(isOwn(address), true, address)
  t.equal(reads, 0)
  for (const address of ['10.0.0.1', 'fd00::1', '172.17.0.1']) t.equal(isOwn(address), true)
  for (const address of ['10.0.0.2', 'fd00::2', '172.18.0.1']) t.equal(isOwn(address), false)
  bridges = at('172.18.0.1')
  t.equal(reads, 1)
  await clock.advance(10_000)
  t.equal(isOwn('172.18.0.1'), true)
  t.equal(isOwn('172.17.0.1'), false)
  t.equal(makeOwnAddresses(clock)('192.0.2.1'), false, 'the machine’s own')
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { networkOf, NO_ZONE_CONFIGURED, zoneTrap } from '../../agent/zone-trap.js'

t.test('the network of an address, as far as an address alone tells it', t => {
  const rows: [address: string, network: string][] = [
    ['10.1.2.3', '10.1.2.0/24'],
    ['2001:db8:1:2::5', '2001:db8:1:2::/64'],
    ['2001:db8::5', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80:1:2:3:4:5:6:7', 'fe80:1:2:3::/64'],
    ['2001:db8:0:1:1::', '2001:db8:0:1::/64'],
  ]
  for (const [address, network] of rows) t.equal(networkOf(address), network, address)
  t.end()
})

t.test('all sites are one zone only where nobody asked for it', t => {
  const near = ['10.0.0.1', '10.0.0.2']
  const far = ['10.0.0.1', '10.0.1.1', '10.0.2.1', '10.0.3.1', '10.0.4.1']
  const rows: [claim: string, trap: string | undefined, says: RegExp | undefined][] = [
    ['a zone of one network', zoneTrap(NO_ZONE_CONFIGURED, near, []), undefined],
    ['a zone that was configured', zoneTrap('nodes with label=a', far, ['b']), undefined],
    ['one zone on purpose', zoneTrap('all edge nodes: TaintZoneAdmission is false', far, []), undefined], // prettier-ignore
    ['several networks', zoneTrap(NO_ZONE_CONFIGURED, far, []), /so all 5 nodes are one zone, though they lie in 5 networks \(10\.0\.0\.0\/24, .*10\.0\.3\.0\/24, …\): give each site a zone, or say TaintZoneAdmission: "false"/], // prettier-ignore
    ['who does not reach all', zoneTrap(NO_ZONE_CONFIGURED, near, ['a', 'b']), /though they do not all reach a, b: /], // prettier-ignore
    ['both', zoneTrap(NO_ZONE_CONFIGURED, far, ['a']), /\) and do not all reach a: /],
  ]
  for (const [claim, trap, says] of rows)
    if (says === undefined) t.equal(trap, undefined, claim)
    else t.match(trap, says, claim)
  t.end()
})

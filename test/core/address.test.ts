// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { canonicalAddress } from '../../core/address.js'

t.test('an IP address has one spelling', t => {
  const rows: readonly (readonly [text: string, want: string | undefined])[] = [
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::FFFF:10.0.0.1', '10.0.0.1'],
    ['::ffff:a00:1', '10.0.0.1'],
    ['0:0:0:0:0:ffff:0a00:0001', '10.0.0.1'],
    ['FD00:0::1', 'fd00::1'],
    ['fd00:0:0:0:0:0:0:1', 'fd00::1'],
    ['::1', '::1'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['10.0.0.01', undefined],
    ['10.0.0', undefined],
    ['node-1', undefined],
    ['', undefined],
  ]
  for (const [text, want] of rows) t.equal(canonicalAddress(text), want, text)
  t.end()
})

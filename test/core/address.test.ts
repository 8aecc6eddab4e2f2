// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { canonicalAddress, hostOf } from '../../core/address.js'

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

t.test('the host of a URL, as sockets take it', t => {
  const rows: readonly (readonly [url: string, want: string])[] = [
    ['https://[FD00::1]:6443', 'fd00::1'],
    ['https://10.0.0.1:6443', '10.0.0.1'],
    ['tcp://[fd00::1]:22', 'fd00::1'],
    ['https://api.example/', 'api.example'],
  ]
  for (const [url, want] of rows) t.equal(hostOf(new URL(url)), want, url)
  t.end()
})

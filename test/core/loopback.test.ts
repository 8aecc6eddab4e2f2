// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { isLoopback, namesThisHost } from '../../core/loopback.js'

t.test('loopback is 127.0.0.0/8 and ::1, as sockets tell them', t => {
  for (const address of ['127.0.0.1', '127.31.0.11', '::1', '::ffff:127.0.0.1'])
    t.ok(isLoopback(address), address)
  for (const address of ['', '0.0.0.0', '::', '10.0.0.127', '::ffff:10.0.0.1', '1127.0.0.1'])
    t.notOk(isLoopback(address), address)
  t.end()
})

t.test('a Host header names this machine by loopback or by the bound address', t => {
  const own = [
    'localhost',
    'LOCALHOST:1',
    '127.0.0.1:51005',
    '127.9.9.9',
    '[::1]:51005',
    '10.0.0.7',
  ]
  for (const header of own) t.ok(namesThisHost(header, '10.0.0.7'), header)
  t.ok(namesThisHost('[fd00::a]:51005', 'FD00::A'))
  for (const header of ['', 'evil.example', 'localhost.evil.example', '127.0.0.1.evil.example'])
    t.notOk(namesThisHost(header, '10.0.0.7'), header)
  for (const header of ['10.0.0.8', '[::2]', '127.0.0.1:51005:1', 'a b'])
    t.notOk(namesThisHost(header, '10.0.0.7'), header)
  t.end()
})

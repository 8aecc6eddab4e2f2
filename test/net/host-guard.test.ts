// SPDX-License-Identifier: Apache-2.0
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { isForThisHost } from '../../net/host-guard.js'

const rows: readonly (readonly [
  host: string | undefined,
  bound: string,
  isForThisHost: boolean,
])[] = [
  ['localhost:51005', '127.0.0.1', true],
  ['127.0.0.1', '127.0.0.1', true],
  ['evil.example', '127.0.0.1', false],
  [undefined, '127.0.0.1', false],
  ['10.0.0.1:51005', '10.0.0.1', true],
  ['10.0.0.2', '10.0.0.1', false],
  ['node-1.example', '0.0.0.0', true],
  ['node-1.example', '::', true],
]

t.test('a request must name the machine, unless it is asked under any name', async t => {
  for (const [host, bound, expected] of rows) {
    const request = new IncomingMessage(new Socket())
    if (host !== undefined) request.headers.host = host
    t.equal(isForThisHost(request, bound), expected, `${host} at ${bound}`)
  }
})

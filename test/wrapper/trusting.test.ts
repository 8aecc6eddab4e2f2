// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import t from 'tap'
import type { Sources } from '../../net/sources.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { trusting } from '../../wrapper/trusting.js'

const of = (socket: Socket): IncomingMessage => ({ socket }) as IncomingMessage

t.test('whose requests are trusted', async t => {
  const rows: [what: string, key: string | undefined, socket: Socket, isTrusted: boolean][] = [
    ['a member', 'user 0', new Socket(), true],
    ['a stranger', 'user 9', new Socket(), false],
    ['a stranger with a certificate', 'user 9', new TLSSocket(new Socket()), true],
    ['somebody unknown', undefined, new Socket(), false],
  ]
  for (const [what, key, socket, isTrusted] of rows) {
    const clock = new FakeClock()
    const sources: Sources = { keyOf: () => key, isMember: of => of === 'user 0' }
    const asked = trusting(sources, { clock, signal: new AbortController().signal })(of(socket))
    await clock.advance(1_000)
    t.equal(await asked, isTrusted, what)
  }
})

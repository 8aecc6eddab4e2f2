// SPDX-License-Identifier: Apache-2.0
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import t from 'tap'
import type { Sources } from '../../net/sources.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { seededRandom } from '../../testkit/seeded-random.js'
import { Proxy } from '../../wrapper/proxy/proxy.js'
import { trusting } from '../../wrapper/trusting.js'
import { upstreamAt } from './proxy-bed.js'

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

t.test('many requests may wait for their users at once', async t => {
  const warnings: string[] = []
  const note = ({ name, message }: Error): void => {
    if (name === 'MaxListenersExceededWarning') warnings.push(message)
  }
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const clock = new FakeClock()
  const sources: Sources = {
    keyOf: () => undefined,
    isMember: () => false,
    askAgainMs: () => 1_000,
  }
  const { signal } = new AbortController()
  const isTrusted = trusting(sources, { clock, signal })
  const proxy = new Proxy(
    { maxEvents: 1, maxBytes: 1 },
    {
      ...{ clock, random: seededRandom(1), log: recordingLog(), sources },
      ...{ upstream: upstreamAt('http://127.0.0.1:1'), recordOf: () => undefined },
      isCut: () => false,
    },
  )
  const asked = Array.from({ length: 40 }, () => {
    const request = new IncomingMessage(new Socket())
    request.method = 'POST'
    request.url = '/api/v1/namespaces/default/events'
    request.rawHeaders.push('Content-Length', '1')
    proxy.handle(request, new ServerResponse(request))
    return isTrusted(of(new Socket()))
  })
  t.equal(clock.waiting, 80, 'all of them wait')
  await clock.advance(999)
  t.equal(clock.waiting, 80)
  await clock.advance(1)
  t.strictSame(new Set(await Promise.all(asked)), new Set([false]))
  await proxy.stop()
  t.strictSame(warnings, [])
})

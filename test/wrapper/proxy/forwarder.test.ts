// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { openListener } from '../../../testkit/http/open-listener.js'
import { answer } from '../../../testkit/http/scripted-server.js'
import { call, scripted, startProxy, upstreamAt } from '../proxy-bed.js'

t.test('a request that is sent twice leaves one listener to its response', async t => {
  const warnings: string[] = []
  const note = ({ name, message }: Error): void => {
    if (name === 'MaxListenersExceededWarning') warnings.push(message)
  }
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const api = await scripted(t)
  const bed = await startProxy(t, { upstream: upstreamAt(api.url) })
  const listener = await openListener({
    handle: (request, response) => {
      // As `Reads` does for a list that it passes on in the end.
      response.once('close', () => undefined)
      bed.proxy.handle(request, response)
    },
  })
  t.teardown(() => listener.close())
  api.script(answer({ n: 0 }))
  await call({ ...bed, port: listener.port }, '/version')
  api.script({ kind: 'reset' }, answer({ n: 1 }))
  const got = await call({ ...bed, port: listener.port }, '/api/v1/endpoints')
  t.strictSame([got.status, JSON.parse(got.text)], [200, { n: 1 }])
  t.equal(api.asked.length, 3, 'it was sent twice')
  t.strictSame(warnings, [], 'Node.js warns of eleven')
})

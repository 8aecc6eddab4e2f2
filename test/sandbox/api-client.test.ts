// SPDX-License-Identifier: Apache-2.0
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { systemClock } from '../../core/clock.js'
import { makeApiClient } from '../../sandbox/api-client.js'
import { certificateFor } from '../../testkit/certificates.js'
import { never } from '../../testkit/kube/built-kube.js'

t.test(
  'an https apiserver is believed when the given authority signed for it, and only then',
  async t => {
    const pair = await certificateFor('127.0.0.1')
    const other = await certificateFor('127.0.0.1')
    const server = createServer(pair, (request, answer) =>
      answer.end(JSON.stringify({ seen: request.headers.authorization })),
    )
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const ask = async (ca: string | undefined): Promise<unknown> => {
      const client = makeApiClient({ server: url, token: 'secret', ca }, systemClock)
      return client.get('/', never).finally(() => client.close())
    }
    t.same(await ask(pair.cert), { seen: 'Bearer secret' }, 'the token goes to who can prove it')
    await t.rejects(ask(other.cert), { code: 'KUBE_UNREACHABLE' }, 'another authority')
    await t.rejects(ask(undefined), { code: 'KUBE_UNREACHABLE' }, 'no authority given')
  },
)

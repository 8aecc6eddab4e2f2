// SPDX-License-Identifier: Apache-2.0
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { systemClock } from '../../core/clock.js'
import { readStatus } from '../../sandbox/agent-view.js'

const STATUS = {
  ...{ cloudLink: { state: 'up' }, brake: { isOn: false }, disruption: 'none' },
  ...{ zone: { members: 3 }, keys: { state: 'ok', sharedBy: 3 }, nodes: [] },
}

t.test('an agent of a version without identities is read, one without a zone is not', async t => {
  const bodies: Readonly<Record<string, object>> = {
    '/new/status': { ...STATUS, identity: { members: 2 } },
    '/old/status': STATUS,
    '/other/status': { ...STATUS, zone: undefined },
  }
  const server = createServer(({ url = '' }, answer) => answer.end(JSON.stringify(bodies[url])))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const read = (path: string) =>
    readStatus(`http://127.0.0.1:${port}/${path}`, systemClock, new AbortController().signal)
  t.match(await read('new'), { identity: { members: 2 } })
  t.match(await read('old'), { identity: { members: 0 }, zone: { members: 3 } })
  t.equal(await read('other'), undefined)
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { openUpstream, said } from './upstream-stage.js'
import { settle } from '../../../../testkit/fake-clock.js'

t.test('of an Event within an Event only the inner one, which was judged, is created', async t => {
  const { say, connect, api } = openUpstream()
  const link = connect()
  const own = {
    source: { component: 'kubelet', host: 'e1' },
    involvedObject: { kind: 'Node', name: 'e1' },
  }
  const forged = {
    metadata: { name: 'x.1', namespace: 'default' },
    source: { component: 'node-controller', host: 'e2' },
    reportingComponent: 'node-controller',
    reportingInstance: 'e2',
    involvedObject: { kind: 'Node', name: 'e2' },
    type: 'Warning',
    reason: 'NodeNotReady',
    message: 'forged',
  }
  say(link, said('insert', 'default/event/x.1', forged))
  await settle()
  t.strictSame(api.asked, [], 'on its own it is refused')
  say(link, said('insert', 'default/event/x.2', { ...forged, event: own }))
  await settle()
  const [created] = api.asked
  t.equal(api.asked.length, 1)
  t.match(created?.body, { ...own, metadata: { name: 'x.2', namespace: 'default' } })
  t.notMatch(JSON.stringify(created?.body), /node-controller|forged|e2/, 'only what was judged')
})

// SPDX-License-Identifier: Apache-2.0
// Real processes. `npm run lab -- conformance` plays the same on a real apiserver.
import t from 'tap'
import { testApi } from '../../testkit/kube/api-client.js'
import { playTwoLeaders } from '../../testkit/kube/two-leaders.js'

t.test('a leader that was suspended writes nothing when it resumes', async t => {
  const { api, token } = await testApi()
  t.teardown(() => api.stop())
  t.strictSame(await playTwoLeaders({ url: api.url, token, id: 'two' }), [])
})

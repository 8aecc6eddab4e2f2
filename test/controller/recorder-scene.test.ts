// SPDX-License-Identifier: Apache-2.0
// `npm run lab -- conformance` plays the same on a real apiserver.
import t from 'tap'
import { testApi } from '../../testkit/kube/api-client.js'
import { playRecorder } from '../../testkit/kube/recorder-scene.js'

t.test('Events have counts and bounds, and what has changed is not deleted', async t => {
  const { api, token } = await testApi()
  t.teardown(() => api.stop())
  t.strictSame(await playRecorder({ url: api.url, token, id: 'scene' }), [])
})

// SPDX-License-Identifier: Apache-2.0
// The same rows judge a real kube-apiserver when CONFORMANCE_URL and CONFORMANCE_TOKEN name one
// (NODE_EXTRA_CA_CERTS for its certificate); its default namespace is written to.
import t from 'tap'
import { testApi } from '../support/api-client.js'
import { runRow } from '../support/conformance.js'
import { rows } from './conformance-rows.js'

const { CONFORMANCE_URL: url, CONFORMANCE_TOKEN: token = '' } = process.env

t.test('the API does what a real one does', async t => {
  const embedded = url === undefined ? await testApi() : undefined
  t.teardown(() => embedded?.api.stop())
  const judged = { url: url ?? embedded!.api.url, token: embedded?.token ?? token }
  const run = Date.now().toString(36)
  for (const [index, row] of rows.entries()) {
    const differences = await runRow({ ...judged, id: `t${run}${index}` }, row)
    t.strictSame(differences, [], row[0])
  }
})

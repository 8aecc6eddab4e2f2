// SPDX-License-Identifier: Apache-2.0
// The same rows judge a real kube-apiserver when CONFORMANCE_URL and CONFORMANCE_TOKEN name one
// (NODE_EXTRA_CA_CERTS for its certificate); its default namespace is written to.
import t from 'tap'
import { systemClock } from '../../core/clock.js'
import { startGarbageCollector } from '../../sandbox/garbage-collector.js'
import { testApi } from '../../testkit/kube/api-client.js'
import { isAboutForgetting, runRow } from '../../testkit/kube/conformance.js'
import { REASONS } from './conformance-reasons.js'
import { rows } from './conformance-rows.js'

const { CONFORMANCE_URL: url, CONFORMANCE_TOKEN: token = '' } = process.env

t.test('the API does what a real one does', async t => {
  const embedded = url === undefined ? await testApi() : undefined
  const collector = embedded && startGarbageCollector(embedded.api.store, systemClock)
  t.teardown(async () => {
    await collector?.stop()
    await embedded?.api.stop()
  })
  const judged = {
    url: url ?? embedded!.api.url,
    token: embedded?.token ?? token,
    forget: embedded && (async () => embedded.api.store.forgetHistory()),
  }
  const run = Date.now().toString(36)
  for (const [index, row] of rows.entries()) {
    if (judged.forget === undefined && isAboutForgetting(row)) {
      t.test(row[0], { skip: 'only "npm run lab -- conformance" restarts the server' }, () => null)
      continue
    }
    const differences = await runRow({ ...judged, id: `t${run}${index}` }, row)
    const isKnown = REASONS.some(({ row: name, who }) => name === row[0] && who === 'embedded')
    if (isKnown && embedded !== undefined)
      t.not(differences.length, 0, `still different: ${row[0]}`)
    else t.strictSame(differences, [], row[0])
  }
})

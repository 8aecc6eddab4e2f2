// SPDX-License-Identifier: Apache-2.0
// The wrapper gives a caller's request little time only while nobody answers its own.
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { settle } from '../../testkit/fake-clock.js'
import { behind, refuseWith } from './front.js'
import { isSo, startUpstream, startWrapper } from './wrapper-bed.js'

t.setTimeout(180_000)

const NET = 14
const PODS = '/api/v1/namespaces/n/pods'

for (const [code, what, afterMs] of [
  [403, 'a slow apiserver that refuses the wrapper’s own lists has its 70 s for a caller', 70_000],
  [503, 'where a proxy finds no apiserver a caller is soon told', 5_000],
] as const)
  t.test(what, async t => {
    const held: ServerResponse[] = []
    const front = await behind(t, await startUpstream(t), (request, response) => {
      if (request.method === 'POST') held.push(response)
      else refuseWith(response, code)
      return true
    })
    const bed = await startWrapper(t, front, { net: NET })
    t.teardown(() => held.forEach(response => response.destroy()))
    const isTroubled = async (): Promise<boolean> => {
      const { resources } = await bed.status()
      return resources.filter(({ trouble }) => trouble !== null).length >= 4
    }
    await isSo(isTroubled)
    let status: number | undefined
    const asking = bed
      .write(PODS, { method: 'POST', body: '{}' })
      .then(answer => (status = answer.status))
    await isSo(() => held.length > 0)
    const from = bed.clock.now()
    while (status === undefined && bed.clock.now() - from < 100_000) {
      await bed.clock.advance(1_000)
      for (let i = 0; i < 50; i++) await settle()
    }
    await asking
    t.equal(status, 503)
    const tookMs = bed.clock.now() - from
    t.ok(tookMs >= afterMs && tookMs <= afterMs + 10_000, `answered after ${tookMs} ms`)
  })

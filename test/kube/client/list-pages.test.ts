// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { KubeStatusError, KubeUnreachableError } from '../../../core/errors.js'
import type { KubeClient } from '../../../kube/client/client.js'
import { UnusableListError } from '../../../kube/client/codec.js'
import { jsonCodec } from '../../../kube/client/json-codec.js'
import { listAll } from '../../../kube/client/list-pages.js'
import { rawNode, startPlain } from '../../../testkit/kube/built-kube.js'
import { settle } from '../../../testkit/fake-clock.js'
import { recordingSink, setUp } from '../../../testkit/kube/scripted-watch.js'
import { answer, refusal, type Step } from '../../../testkit/http/scripted-server.js'

t.test(
  'FW11: a page that flows may take as long as it likes; one that is silent may not',
  async t => {
    const { server, api, clock } = await startPlain(t)
    const begun: Step = { kind: 'stream', lines: ['{"metadata":{"resourceVersion":"1"},'] }
    server.script(begun, begun)
    let listed: readonly unknown[] | undefined
    const watching = api.watchMembers(
      { selector: '' },
      { replace: items => (listed = items), upsert: () => t.fail(), remove: () => t.fail() },
    )
    const slow = await server.request(0)
    for (let second = 0; second < 180; second += 5) {
      slow.write(' ')
      await clock.advance(5_000)
    }
    t.equal(watching.status.trouble, undefined, 'three minutes, some bytes now and then')
    await clock.advance(40_000)
    await slow.gone
    while (watching.status.trouble === undefined) await settle()
    t.match(watching.status.trouble, /nothing heard for 30000 ms/)
    await clock.advance(1_000)
    const next = await server.request(1)
    next.line(`"items":[${JSON.stringify(rawNode)}]}`)
    next.end()
    while (listed === undefined) await settle()
    t.equal(listed.length, 1, 'and the next attempt has it')
  },
)

t.test('FW11: a list that expired between two pages is asked for in one', async t => {
  const sink = recordingSink()
  const page = (version: string, more?: string) =>
    answer({ metadata: { resourceVersion: version, continue: more }, items: [rawNode] })
  const steps = [page('1', 'x'), refusal(410, 'Expired'), page('2')]
  const { server } = await setUp(t, steps, { sink })
  await sink.until(1)
  t.strictSame(sink.changes, ['=n1'])
  t.strictSame(
    server.asked.slice(0, 3).map(({ query }) => [query.get('limit'), query.get('continue')]),
    [
      ['200', null],
      ['200', 'x'],
      [null, null],
    ],
  )
})

t.test('a list that is of no use is told from one that nobody answers for', async t => {
  const page = JSON.stringify({ items: [], metadata: { resourceVersion: '1', continue: 'x' } })
  const expired = new KubeStatusError('GET', { status: 410, reason: 'Expired', message: '' })
  const away = (cause: Error): Error => new KubeUnreachableError('GET', cause.message, { cause })
  const rows: [why: RegExp, answer: (n: number) => string | Error, isUnusable: boolean][] = [
    [/not JSON/, () => '<html>', true],
    [/no list/, () => '{}', true],
    [/too large/, () => away(new RangeError('too large')), true],
    [/more than 2000 pages/, () => page, true],
    [/expired twice/, n => (n % 2 === 0 ? page : expired), true],
    [/refused/, () => away(new Error('refused')), false],
  ]
  for (const [why, answer, isUnusable] of rows) {
    let asked = 0
    const played: Pick<KubeClient, 'body'> = {
      body: async () => {
        const said = answer(asked++)
        if (typeof said !== 'string') throw said
        return { type: '', bytes: Buffer.from(said) }
      },
    }
    const request = { codec: jsonCodec, path: '/x', query: {}, pageSize: 1, timeoutMs: 1 }
    const { signal } = new AbortController()
    const error = await listAll(played as KubeClient, request, signal, raw => raw).catch(
      (thrown: unknown) => thrown,
    )
    t.equal(error instanceof UnusableListError, isUnusable, String(why))
    t.match((error as Error).message, why)
  }
})

// SPDX-License-Identifier: Apache-2.0
// What the whole wrapper takes as a sign that queued Events can be delivered.
import t, { type Test } from 'tap'
import { settle } from '../../testkit/fake-clock.js'
import { behind, refuseWith } from './front.js'
import { isSo, MERGE, SLICES, startUpstream, startWrapper } from './wrapper-bed.js'

t.setTimeout(180_000)

const NET = 13
const EVENTS = '/api/v1/namespaces/default/events'

/** A wrapper whose requests are passed on, but for Events: those are dropped, or are answered 429. */
const makeBed = async (t: Test) => {
  const upstream = await startUpstream(t)
  const posted: string[] = []
  const way = { isOpen: false }
  const front = await behind(t, upstream, (request, response) => {
    if (request.method !== 'POST') return false
    posted.push(request.headers['x-name'] as string)
    if (way.isOpen) refuseWith(response, 429, { 'retry-after': '30' })
    else request.socket.destroy()
    return true
  })
  const bed = await startWrapper(t, front, { net: NET })
  await isSo(async () => (await bed.shown()) === 'a,b,c')
  const post = async (name: string): Promise<void> => {
    const headers = { 'content-type': 'application/json', 'x-name': name }
    const answer = await bed.write(EVENTS, { method: 'POST', body: '{}', headers })
    t.equal(answer.status, 201)
  }
  const patch = (n: number): Promise<unknown> =>
    upstream.ask(`PATCH ${SLICES}/web-1`, { metadata: { labels: { n: String(n) } } }, MERGE)
  /** Time goes by, and connections do their part. */
  const pass = async (ms: number): Promise<void> => {
    await bed.clock.advance(ms)
    for (let i = 0; i < 50; i++) await settle()
  }
  return { ...bed, posted, way, post, patch, pass }
}

t.test(
  'an apiserver that answers 429 is not asked again with each change of an object',
  async t => {
    const bed = await makeBed(t)
    await bed.post('x')
    bed.way.isOpen = true
    bed.posted.length = 0
    await bed.clock.advance(2_000)
    await isSo(() => bed.posted.length === 1)
    for (let n = 1; n <= 16; n++) {
      await bed.patch(n)
      await isSo(async () => {
        const [slice] = await bed.list(SLICES)
        return slice?.metadata.labels?.['n'] === String(n)
      })
      await bed.pass(1_000)
    }
    t.equal(bed.posted.length, 1, 'it said: in 30 s')
    t.match((await bed.status()).events, { waiting: 1, refused: 0 })
    await bed.pass(20_000)
    t.equal(bed.posted.length, 2)
  },
)

t.test('the agent’s reports are no sign that the apiserver is back', async t => {
  const bed = await makeBed(t)
  let isAlive = false
  const report = async (): Promise<void> => {
    bed.agent.say({ a: true, b: isAlive, c: true })
    const shown = isAlive ? 'a,b,c' : 'a,c'
    await isSo(async () => (await bed.shown()) === shown)
    isAlive = !isAlive
  }
  await report()
  await bed.post('x')
  await bed.post('y')
  bed.posted.length = 0
  for (let s = 0; s < 6; s++) {
    await bed.pass(1_000)
    await report()
  }
  t.ok(bed.posted.length >= 2, `${bed.posted.length} attempts`)
  t.strictSame(new Set(bed.posted), new Set(['x']), 'the outage counts against no Event')
})

// SPDX-License-Identifier: Apache-2.0
import t, { type Test } from 'tap'
import { fixedCredentials } from '../../../kube/client/fixed-credentials.js'
import { KubeClient } from '../../../kube/client/client.js'
import { testApi, type TestApi } from '../../../testkit/kube/api-client.js'
import { FakeClock, settle } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'
import { Neighbours } from '../../../wrapper/upstream/neighbours.js'

const makeBed = async (t: Test) => {
  const upstream = await testApi({ anonymous: 'reader' })
  const clock = new FakeClock()
  const client = new KubeClient(
    fixedCredentials({ server: upstream.api.url, token: upstream.api.addClient('reader') }),
    clock,
    'test',
  )
  const reported = new Map<string, ReadonlySet<string>>()
  const log = recordingLog()
  const neighbours = new Neighbours(
    { client, clock, log, random: seededRandom(1) },
    (label, value, names) => reported.set(`${label}=${value}`, names),
  )
  t.teardown(async () => {
    await neighbours.stop()
    await client.close()
    await upstream.api.stop()
  })
  return { upstream, clock, neighbours, reported, log }
}

const add = (upstream: TestApi, name: string, zone = 'x'): Promise<unknown> =>
  upstream.ask('POST /api/v1/nodes', { metadata: { name, labels: { zone } } })

const addMany = async (upstream: TestApi, from: number, to: number): Promise<void> => {
  for (let i = from; i < to; i++) await add(upstream, `n${i}`)
}

const isSo = async (look: () => boolean): Promise<void> => {
  while (!look()) await settle()
}

t.test('few neighbours are watched, and changes are known at once', async t => {
  const { upstream, neighbours, reported } = await makeBed(t)
  await add(upstream, 'a')
  neighbours.want(new Map([['zone', 'x']]))
  await isSo(() => reported.get('zone=x')?.size === 1)
  await add(upstream, 'b')
  await isSo(() => reported.get('zone=x')?.size === 2)
  await upstream.ask('DELETE /api/v1/nodes/a')
  await isSo(() => reported.get('zone=x')?.size === 1)
  t.same([...reported.get('zone=x')!], ['b'])
  t.match(neighbours.status, [{ label: 'zone', value: 'x', how: 'watched', trouble: undefined }])
})

t.test('labels that are no longer wanted are no longer reported', async t => {
  const { upstream, neighbours, reported } = await makeBed(t)
  await add(upstream, 'a')
  await add(upstream, 'b', 'y')
  neighbours.want(new Map([['zone', 'x']]))
  await isSo(() => reported.get('zone=x')?.size === 1)
  neighbours.want(new Map([['zone', 'y']]))
  await isSo(() => reported.get('zone=y')?.size === 1)
  t.same(
    neighbours.status.map(({ value }) => value),
    ['y'],
  )
  await add(upstream, 'c')
  await add(upstream, 'd', 'y')
  await isSo(() => reported.get('zone=y')?.size === 2)
  t.equal(reported.get('zone=x')?.size, 1)
  await neighbours.stop()
  neighbours.want(new Map([['zone', 'x']]))
  t.same(neighbours.status, [], 'nothing begins after the end')
})

t.test('many neighbours are polled, and watched again when only half are left', async t => {
  const { upstream, clock, neighbours, reported, log } = await makeBed(t)
  await addMany(upstream, 0, 101)
  neighbours.want(new Map([['zone', 'x']]))
  await isSo(() => reported.get('zone=x')?.size === 101)
  await isSo(() => neighbours.status[0]?.how === 'polled')
  await addMany(upstream, 101, 103)
  await settle()
  t.equal(reported.get('zone=x')?.size, 101, 'between two polls nothing is known')
  await clock.advance(144_000)
  await isSo(() => reported.get('zone=x')?.size === 103)
  upstream.api.cutLink('reader', 'refused')
  const first = () => neighbours.status[0]!
  while (first().trouble === undefined) {
    await clock.advance(10_000)
    await settle()
  }
  t.equal(reported.get('zone=x')?.size, 103, 'what was known stays')
  t.equal(log.lines.filter(({ message }) => message.startsWith('a poll of nodes')).length, 1)
  upstream.api.healLink('reader')
  for (let i = 0; i < 60; i++) await upstream.ask(`DELETE /api/v1/nodes/n${i}`)
  while (first().how === 'polled') {
    await clock.advance(10_000)
    await settle()
  }
  await isSo(() => reported.get('zone=x')?.size === 43)
  t.equal(first().trouble, undefined)
})

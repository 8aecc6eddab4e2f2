// SPDX-License-Identifier: Apache-2.0
// What goes wrong around units that go: nothing of it may cost a site its workloads.
import t from 'tap'
import { sleep, systemClock } from '../../core/clock.js'
import type { Operation } from '../../grids/model/decide.js'
import { UNIT_LABEL } from '../../grids/model/marks.js'
import { Batch } from '../../grids/run/batch.js'
import { Counters } from '../../grids/run/counters.js'
import type { Executor } from '../../grids/run/executor.js'
import { GridMemory } from '../../grids/run/grid-memory.js'
import type { GridRecord } from '../../grids/run/grid-record.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { startGridApi } from '../../testkit/kube/grid-api.js'
import { deploymentGrid } from '../../testkit/kube/grid-objects.js'
import { GridStage } from '../../testkit/kube/grid-stage.js'
import { never, until } from '../../testkit/kube/raw-objects.js'

t.setTimeout(120_000)

const stages = async (): Promise<(id: string) => Promise<GridStage>> => {
  const { server } = await startGridApi(t)
  return async id => {
    const stage = new GridStage(server, id)
    await stage.open()
    return stage
  }
}

const stageOf = await stages()
const wait = (ms: number): Promise<boolean> => sleep(systemClock, ms, never)

const letters = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => String.fromCharCode(97 + at))

/** A node for each unit, named after it, and a grid. */
const begin = async (
  stage: GridStage,
  units: readonly string[],
  options: Parameters<GridStage['start']>[0],
): Promise<void> => {
  for (const unit of units) await stage.node(unit, unit)
  await stage.make(deploymentGrid('web'))
  await stage.start(options)
  await until('all are made', async () => (await stage.names('Deployment')).length === units.length)
  await stage.written()
}

const isMarked = async (stage: GridStage, unit: string): Promise<boolean> =>
  'edge-health/unit-gone-since' in
  ((await stage.get('Deployment', `web-${unit}`)).metadata.annotations ?? {})

const tokenOf = (stage: GridStage): string | undefined =>
  /: "([0-9a-f]{8})"/.exec(
    stage.events.findLast(({ reason }) => reason === 'Held')?.note ?? '',
  )?.[1]

const confirm = (stage: GridStage): Promise<unknown> =>
  stage.change('DeploymentGrid', 'web', {
    metadata: { annotations: { 'edge-health/confirm-removal': tokenOf(stage) } },
  })

t.test('nodes that come back one by one: a hold that ends begins the grace anew', async t => {
  const stage = await stageOf('anew')
  await begin(stage, letters(5), { graceMs: 1_500 })
  for (const unit of letters(3)) await stage.label(unit, null)
  await stage.conditionBecomes('DeploymentGrid', 'web', 'Held', 'True TooManyUnitsGone')
  await wait(2_000)
  await stage.label('a', 'a')
  await stage.conditionBecomes('DeploymentGrid', 'web', 'Held', 'False NothingHeld')
  await wait(300)
  t.equal((await stage.names('Deployment')).length, 5, 'nothing goes while the others come back')
  await until('the grace ends', async () => (await stage.names('Deployment')).length === 3)
  await stage.close()
})

t.test('the same after a restart in the middle of the hold', async t => {
  const stage = await stageOf('restart')
  await begin(stage, letters(5), { graceMs: 60_000 })
  for (const unit of letters(3)) await stage.label(unit, null)
  await stage.conditionBecomes('DeploymentGrid', 'web', 'Held', 'True TooManyUnitsGone')
  for (const unit of letters(3)) await until('marked', () => isMarked(stage, unit))
  await stage.stop()
  await stage.label('a', 'a')
  await wait(1_200)
  await stage.start({ graceMs: 1_000 })
  await stage.conditionBecomes('DeploymentGrid', 'web', 'Held', 'False NothingHeld')
  await wait(300)
  t.equal((await stage.names('Deployment')).length, 5)
  await stage.close()
})

t.test('40 % in small steps is held like 40 % at once', async t => {
  const stage = await stageOf('steps')
  await begin(stage, letters(10), { graceMs: 200 })
  for (const unit of letters(3)) await stage.label(unit, null)
  await until('three are gone', async () => (await stage.names('Deployment')).length === 7)
  for (const unit of ['d', 'e']) await stage.label(unit, null)
  await stage.conditionBecomes('DeploymentGrid', 'web', 'Held', 'True TooManyUnitsGone')
  await wait(500)
  t.equal((await stage.names('Deployment')).length, 7)
  await confirm(stage)
  await until('a word lets them go', async () => (await stage.names('Deployment')).length === 5)
  t.strictSame(stage.differences, [])
  await stage.close()
})

t.test(
  'a confirmation of one removal does not count for the next, even of the same units',
  async t => {
    const stage = await stageOf('replay')
    await begin(stage, letters(2), { graceMs: 0 })
    for (const unit of letters(2)) await stage.label(unit, null)
    await stage.conditionBecomes('DeploymentGrid', 'web', 'Held', 'True AllUnitsGone')
    await confirm(stage)
    await until('they are gone', async () => (await stage.names('Deployment')).length === 0)
    for (const unit of letters(2)) await stage.label(unit, unit)
    await until('they are back', async () => (await stage.names('Deployment')).length === 2)
    await stage.quiet()
    for (const unit of letters(2)) await stage.label(unit, null)
    await stage.conditionBecomes('DeploymentGrid', 'web', 'Held', 'True AllUnitsGone')
    await wait(500)
    t.equal((await stage.names('Deployment')).length, 2)
    t.strictSame(stage.differences, [])
    await stage.close()
  },
)

t.test('a process that was away does not trust an old note of when a unit went', async t => {
  const stage = await stageOf('away')
  await begin(stage, letters(4), { graceMs: 1_500 })
  await stage.label('a', null)
  await until('marked', () => isMarked(stage, 'a'))
  await stage.stop()
  await stage.label('a', 'a')
  await wait(1_500)
  await stage.label('a', null)
  await stage.start({ graceMs: 1_500 })
  await wait(600)
  t.equal((await stage.names('Deployment')).length, 4)
  await until('in its time', async () => (await stage.names('Deployment')).length === 3)
  await stage.close()
})

t.test('a clock that is an hour ahead shortens no grace', async t => {
  const stage = await stageOf('clock')
  await begin(stage, letters(4), { graceMs: 30_000 })
  await stage.label('a', null)
  await until('marked', () => isMarked(stage, 'a'))
  await stage.stop()
  const clock = {
    now: () => systemClock.now(),
    boot: () => systemClock.boot(),
    wall: () => systemClock.wall() + 3_600_000,
    after: (ms: number, wake: () => void) => systemClock.after(ms, wake),
  }
  await stage.start({ graceMs: 30_000, clock })
  await wait(600)
  t.equal((await stage.names('Deployment')).length, 4)
  await stage.close()
})

/** News of Nodes stop to come, in silence, from the moment on that `isCut` says. */
const withoutNewsOfNodes =
  (isCut: () => boolean) =>
  (client: ResourceClient): ResourceClient => ({
    ...client,
    serverTime: () => client.serverTime(),
    watch: (type, which, sink) =>
      type.resource === 'nodes'
        ? client.watch(type, which, {
            ...sink,
            upsert: item => {
              if (!isCut()) sink.upsert(item)
            },
            remove: key => {
              if (!isCut()) sink.remove(key)
            },
          })
        : client.watch(type, which, sink),
  })

t.test('nothing of a unit that is back is deleted, even if the watch lags', async t => {
  const stage = await stageOf('stale')
  let isCut = false
  await begin(stage, letters(4), { graceMs: 800, between: withoutNewsOfNodes(() => isCut) })
  await stage.label('a', null)
  await until('marked', () => isMarked(stage, 'a'))
  isCut = true
  await stage.label('a', 'a')
  await wait(2_000)
  t.equal((await stage.names('Deployment')).length, 4)
  await stage.close()
})

t.test('many units are gone on the server although the watch reported only one', async t => {
  const stage = await stageOf('many')
  let isCut = false
  await begin(stage, letters(5), { graceMs: 800, between: withoutNewsOfNodes(() => isCut) })
  await stage.label('a', null)
  await until('marked', () => isMarked(stage, 'a'))
  isCut = true
  for (const unit of ['b', 'c']) await stage.label(unit, null)
  await wait(2_500)
  t.equal((await stage.names('Deployment')).length, 5, 'nothing goes without a word')
  await stage.close()
})

t.test('Nodes that were read before a long wait for a write are read again', async t => {
  const clock = new FakeClock()
  const deletion = (unit: string) =>
    ({ kind: 'delete', why: 'unit-gone', unit, live: { kind: 'Deployment', name: unit } }) as const
  const sent: string[] = []
  const run: Executor['run'] = async (operation, { guard }) => {
    const { name } = (operation as ReturnType<typeof deletion>).live
    // An apiserver that said 429 is left alone meanwhile.
    if (name === 'b') await clock.advance(11_000)
    const reason = guard()
    if (reason !== undefined) return { kind: 'withheld', message: reason }
    sent.push(name)
    return { kind: 'done', version: undefined }
  }
  const batch = new Batch(
    {
      record: { revision: '1' } as GridRecord,
      memory: new GridMemory(clock, 'uid'),
      guard: () => undefined,
      signal: never,
    },
    {
      ...{ executor: { run }, clock, counters: new Counters() },
      ...{ unitsNow: () => [], areTooManyGone: () => false },
      readUnits: () => Promise.resolve(new Set()),
    },
  )
  await batch.run([deletion('a'), deletion('b')] as unknown as readonly Operation[])
  t.strictSame(sent, ['a'])
  t.equal(batch.stale, 1, 'it is asked anew')
})

t.test("a child's label of another unit is put back; it is not another child", async t => {
  const stage = await stageOf('label')
  await begin(stage, letters(4), {})
  const before = await stage.get('Deployment', 'web-a')
  for (const unit of ['b', 'z']) {
    await stage.change('Deployment', 'web-a', { metadata: { labels: { [UNIT_LABEL]: unit } } })
    t.strictSame(await stage.written(), ['apply deployments web-a'], `edge-health/unit=${unit}`)
  }
  const after = await stage.get('Deployment', 'web-a')
  t.equal(after.metadata.uid, before.metadata.uid)
  t.equal(after.metadata.labels?.[UNIT_LABEL], 'a')
  t.equal((await stage.names('Deployment')).length, 4)
  await stage.close()
})

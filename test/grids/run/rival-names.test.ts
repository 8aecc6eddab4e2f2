// SPDX-License-Identifier: Apache-2.0
// Two grids whose children want one name, a-b-c: `a` in the unit b-c, and `a-b` in the unit c.
import t, { type Test } from 'tap'
import { sleep, systemClock } from '../../../core/clock.js'
import { KubeStatusError } from '../../../core/errors.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import { startGridApi } from '../../../testkit/kube/grid-api.js'
import { deploymentGrid } from '../../../testkit/kube/grid-objects.js'
import { GridStage } from '../../../testkit/kube/grid-stage.js'
import { never, until } from '../../../testkit/kube/raw-objects.js'

t.setTimeout(120_000)
const { server } = await startGridApi(t)

const openStage = async (t: Test, id: string): Promise<GridStage> => {
  const stage = new GridStage(server, id)
  t.teardown(() => stage.close())
  await stage.open()
  await stage.node('n1', 'b-c')
  return stage
}

/** Another client, for which this comes before each apply of a child. */
const before =
  (act: (name: string) => Promise<unknown>) =>
  (client: ResourceClient): ResourceClient => ({
    ...client,
    serverTime: () => client.serverTime(),
    apply: async (type, of, write, signal) => {
      await act(of.name)
      return client.apply(type, of, write, signal)
    },
  })

const refused = (name: string): Promise<void> =>
  name === 'a-b-c' || name === 'a-c'
    ? Promise.reject(
        new KubeStatusError('PATCH /x', { status: 422, reason: 'Invalid', message: 'no' }),
      )
    : Promise.resolve()

/** Deeper than grids may be; the CRD does not count levels. */
const tooDeep = (levels: number): unknown => (levels === 0 ? 1 : { x: tooDeep(levels - 1) })
const breakGrid = async (stage: GridStage): Promise<void> => {
  const spec = { template: { template: { spec: { deep: tooDeep(70) } } } }
  await stage.change('DeploymentGrid', 'a', { spec })
  await stage.conditionBecomes('DeploymentGrid', 'a', 'Ready', 'False Invalid')
}

const childrenOf = async (stage: GridStage, grid: string): Promise<readonly string[]> => {
  const { uid } = (await stage.get('DeploymentGrid', grid)).metadata
  const all = await stage.list('Deployment')
  return all
    .filter(({ metadata }) => metadata.ownerReferences?.[0]?.uid === uid)
    .map(({ metadata }) => metadata.name.replace(/[0-9a-f]{8}$/, 'HASH'))
    .sort()
}

const makeSecond = async (stage: GridStage): Promise<void> => {
  await stage.node('n2', 'c')
  await stage.make(deploymentGrid('a-b'))
}

const secondHas = (t: Test, stage: GridStage, name: string) =>
  until(`it has ${name}`, async () => (await childrenOf(stage, 'a-b')).includes(name)).then(
    () => t.pass(name),
    (error: unknown) => t.fail(String(error)),
  )

t.test('the child of an invalid grid keeps its name, and the other grid takes another', async t => {
  const stage = await openStage(t, 'invalid')
  await stage.make(deploymentGrid('a'))
  await stage.start()
  await until('its child', async () => (await stage.find('Deployment', 'a-b-c')) !== undefined)
  await breakGrid(stage)
  await makeSecond(stage)
  await secondHas(t, stage, 'a-b-c-HASH')
  t.strictSame(await childrenOf(stage, 'a'), ['a-b-c'])
  t.strictSame(stage.differences, [])
})

t.test('a grid that turns invalid gives up a name for which it has no child', async t => {
  const stage = await openStage(t, 'promised')
  await stage.make(deploymentGrid('a'))
  let isRefused = true
  await stage.start({ between: before(name => (isRefused ? refused(name) : Promise.resolve())) })
  await stage.conditionBecomes('DeploymentGrid', 'a', 'Ready', 'False Refused')
  await breakGrid(stage)
  isRefused = false
  await makeSecond(stage)
  await secondHas(t, stage, 'a-b-c')
  t.strictSame(stage.differences, [])
})

t.test('a grid that is being deleted gives up such a name at once', async t => {
  const stage = await openStage(t, 'going')
  await stage.make(deploymentGrid('a', {}, { finalizers: ['example.com/wait'] }))
  let isRefused = true
  await stage.start({ between: before(name => (isRefused ? refused(name) : Promise.resolve())) })
  await stage.conditionBecomes('DeploymentGrid', 'a', 'Ready', 'False Refused')
  await stage.remove('DeploymentGrid', 'a')
  await stage.quiet()
  isRefused = false
  await makeSecond(stage)
  await secondHas(t, stage, 'a-b-c')
  await stage.change('DeploymentGrid', 'a', { metadata: { finalizers: null } })
  t.strictSame(stage.differences, [])
})

t.test('an older grid that wants a name while it is being written takes another', async t => {
  const stage = new GridStage(server, 'race')
  t.teardown(() => stage.close())
  await stage.open()
  await stage.node('n2', 'c')
  await stage.make(deploymentGrid('a'))
  let isWriting = false
  const slowly = (name: string): Promise<unknown> => {
    isWriting ||= name === 'a-b-c'
    return sleep(systemClock, 500, never)
  }
  await stage.start({ between: before(slowly) })
  await until('the first has a child', async () => (await stage.names('Deployment')).length === 1)
  // Times of creation are whole seconds.
  await sleep(systemClock, 1_000, never)
  await stage.make(deploymentGrid('a-b'))
  await until('the name is being written', () => isWriting)
  await stage.node('n1', 'b-c')
  await until('all are there', async () => (await stage.names('Deployment')).length === 4)
  t.strictSame(await childrenOf(stage, 'a-b'), ['a-b-b-c', 'a-b-c'])
  t.strictSame(await childrenOf(stage, 'a'), ['a-b-c-HASH', 'a-c'])
  t.strictSame(stage.differences, [])
})

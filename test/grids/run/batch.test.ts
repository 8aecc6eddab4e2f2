// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { KubeStatusError } from '../../../core/errors.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import { startGridApi } from '../../../testkit/kube/grid-api.js'
import { deploymentGrid, template } from '../../../testkit/kube/grid-objects.js'
import { GridStage } from '../../../testkit/kube/grid-stage.js'
import { at, until } from '../../../testkit/kube/raw-objects.js'

t.setTimeout(120_000)
const { server } = await startGridApi(t)

/** The apiserver refuses one child for good, dry run or not, as with an immutable field or a policy about that site. */
const refusing =
  (victim: string) =>
  (client: ResourceClient): ResourceClient => ({
    ...client,
    serverTime: () => client.serverTime(),
    apply: async (type, of, write, signal) => {
      if (of.name === victim)
        throw new KubeStatusError('PATCH /x', {
          status: 422,
          reason: 'Invalid',
          message: `${victim} is invalid: spec.x: field is immutable`,
        })
      return client.apply(type, of, write, signal)
    },
  })

for (const victim of ['web-a', 'web-d'])
  t.test(`a child that is refused for good stops no other: ${victim}`, async t => {
    const stage = new GridStage(server, `refused-${victim}`)
    await stage.open()
    for (const unit of ['a', 'b', 'c', 'd']) await stage.node(unit, unit)
    await stage.make(deploymentGrid('web', { template: template('nginx:1') }))
    await stage.start({ between: refusing(victim) })
    await until('the other three', async () => (await stage.names('Deployment')).length === 3)
    t.notOk((await stage.names('Deployment')).includes(victim))
    await stage.conditionBecomes('DeploymentGrid', 'web', 'Ready', 'False Refused')
    const failures = at(await stage.get('DeploymentGrid', 'web'), 'status.failures')
    t.equal(JSON.stringify(failures).match(/"unit":/g)?.length, 1, 'only its unit has failed')
    await stage.close()
  })

/** The apiserver says 500 about every child. */
const failing =
  (message: string, onAsked: () => void = () => undefined) =>
  (client: ResourceClient): ResourceClient => ({
    ...client,
    serverTime: () => client.serverTime(),
    apply: () => {
      onAsked()
      const answer = { status: 500, reason: 'InternalError', message }
      return Promise.reject(new KubeStatusError('PATCH /x', answer))
    },
  })

const OBJECT = '(shop/web-a; apps/v1, Kind=Deployment)'
const wrongs = [
  [
    `failed to create typed patch object ${OBJECT}: .spec.template.spec.containers: expected list, got &{map[]}`,
    'the template is invalid: .spec.template.spec.containers: expected list, got &{map[]}',
  ],
  [
    `failed to convert new object ${OBJECT} to proper version: unable to convert unstructured object to apps/v1, Kind=Deployment: cannot convert float64 to int64`,
    'the template is invalid: cannot convert float64 to int64',
  ],
] as const

for (const [index, [said, message]] of wrongs.entries())
  t.test(`a field of a wrong type is told as the template's fault: ${message}`, async t => {
    const stage = new GridStage(server, `typed${index}`)
    await stage.open()
    for (const unit of ['a', 'b', 'c', 'd']) await stage.node(unit, unit)
    await stage.make(deploymentGrid('web'))
    await stage.start({ between: failing(said) })
    await stage.conditionBecomes('DeploymentGrid', 'web', 'Ready', 'False Refused')
    const failures = at(await stage.get('DeploymentGrid', 'web'), 'status.failures') as object[]
    t.strictSame(
      failures,
      ['a', 'b', 'c', 'd'].map(unit => ({ unit, reason: 'Refused', message })),
    )
    await stage.close()
    t.strictSame(stage.differences, [])
  })

t.test('a server that fails about every child is told in the status, and stays told', async t => {
  const stage = new GridStage(server, 'failing')
  await stage.open()
  for (let unit = 0; unit < 40; unit++) await stage.node(`u${unit}`, `u${unit}`)
  await stage.make(deploymentGrid('web'))
  let asked = 0
  await stage.start({ between: failing('failed calling webhook "x"', () => asked++) })
  await stage.conditionBecomes('DeploymentGrid', 'web', 'Ready', 'False ServerError')
  stage.writes.splice(0)
  const before = asked
  await until('it is tried twice again', () => asked >= before + 6)
  t.equal(await stage.condition('DeploymentGrid', 'web'), 'False ServerError')
  t.notOk(
    stage.writes.some(({ what }) => what.includes('/status')),
    'nothing else was said',
  )
  await stage.close()
  t.strictSame(stage.differences, [])
})

t.test('an edit after a failure is told as in progress while its children are written', async t => {
  const stage = new GridStage(server, 'mended')
  await stage.open()
  for (let unit = 0; unit < 40; unit++) await stage.node(`u${unit}`, `u${unit}`)
  await stage.make(deploymentGrid('web'))
  let isEdited = false
  let release: () => void = () => undefined
  const released = new Promise<void>(resolve => (release = resolve))
  await stage.start({
    between: client => {
      const failed = failing('failed calling webhook "x"')(client)
      return {
        ...failed,
        serverTime: () => client.serverTime(),
        apply: async (...args) => {
          if (!isEdited) return failed.apply(...args)
          await released
          return client.apply(...args)
        },
      }
    },
  })
  await stage.conditionBecomes('DeploymentGrid', 'web', 'Ready', 'False ServerError')
  isEdited = true
  await stage.change('DeploymentGrid', 'web', { spec: { template: template('nginx:2') } })
  await until('another reason', async () => {
    const condition = await stage.condition('DeploymentGrid', 'web')
    return condition !== 'False ServerError'
  })
  t.strictSame(await stage.names('Deployment'), [], 'before any child is written')
  release()
  await until('all children', async () => (await stage.names('Deployment')).length === 40)
  await stage.close()
})

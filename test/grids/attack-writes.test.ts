// SPDX-License-Identifier: Apache-2.0
// Servers, webhooks and other programs that undo or refuse what is written: no storm, and no other child is stopped.
import t from 'tap'
import { sleep, systemClock } from '../../core/clock.js'
import { KubeStatusError } from '../../core/errors.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { ObjectName, ResourceName } from '../../kube/client/resource.js'
import type { ObjectBody } from '../../kube/client/write.js'
import { startGridApi } from '../../testkit/kube/grid-api.js'
import { deploymentGrid, template } from '../../testkit/kube/grid-objects.js'
import { GridStage } from '../../testkit/kube/grid-stage.js'
import { at, never, until } from '../../testkit/kube/raw-objects.js'

t.setTimeout(120_000)

const { server } = await startGridApi(t)
const wait = (ms: number): Promise<boolean> => sleep(systemClock, ms, never)

interface Tampering {
  /** The apiserver, or a webhook, makes another body of it. */
  readonly body?: (body: ObjectBody) => ObjectBody
  /** Before each request that writes; throws what the server answers. */
  readonly before?: (verb: string, type: ResourceName, of: ObjectName, isDryRun?: boolean) => void
}

const tampered =
  ({ body = same => same, before = () => undefined }: Tampering) =>
  (client: ResourceClient): ResourceClient => ({
    ...client,
    serverTime: () => client.serverTime(),
    apply: async (type, of, write, signal) => {
      before('apply', type, of, write.isDryRun)
      return client.apply(type, of, { ...write, body: body(write.body) }, signal)
    },
    patch: async (type, of, write, signal) => {
      before('patch', type, of)
      return client.patch(type, of, write, signal)
    },
    delete: async (type, of, options, signal) => {
      before('delete', type, of)
      return client.delete(type, of, options, signal)
    },
  })

const refusal = (status: number, message: string): KubeStatusError =>
  new KubeStatusError('PATCH /x', { status, reason: '', message })

const open = async (
  id: string,
  units: readonly string[],
  tampering: Tampering,
  graceMs?: number,
): Promise<GridStage> => {
  const stage = new GridStage(server, id)
  await stage.open()
  for (const unit of units) await stage.node(unit, unit)
  await stage.make(deploymentGrid('web', { template: template('nginx:1', { minReadySeconds: 7 }) }))
  await stage.start({ between: tampered(tampering), ...(graceMs === undefined ? {} : { graceMs }) })
  return stage
}

const writesIn = async (stage: GridStage, ms: number): Promise<number> => {
  stage.writes.splice(0)
  await wait(ms)
  return stage.writes.filter(({ what }) => !what.includes('/status')).length
}

t.test('a webhook that rewrites what is applied, and a field that is not kept', async t => {
  const swaps: readonly [id: string, body: (body: ObjectBody) => ObjectBody][] = [
    [
      'mirror',
      body => JSON.parse(JSON.stringify(body).replace('nginx:1', 'mirror/nginx:1')) as ObjectBody,
    ],
    [
      'gate',
      body => JSON.parse(JSON.stringify(body).replace('"minReadySeconds":7,', '')) as ObjectBody,
    ],
  ]
  for (const [id, body] of swaps) {
    const stage = await open(id, ['north', 'south'], { body })
    await stage.conditionBecomes('DeploymentGrid', 'web', 'Ready', 'False Contested')
    t.ok((await writesIn(stage, 3_000)) <= 4, `${id}: no storm`)
    t.equal(stage.events.filter(({ reason }) => reason === 'Contested').length, 1, 'one Event')
    t.strictSame(stage.differences, [])
    await stage.close()
  }
})

t.test('somebody who sets his own number again each time', async t => {
  const stage = await open('fight', ['north', 'south'], {})
  await until('made', async () => (await stage.names('Deployment')).length === 2)
  const end = new AbortController()
  const opponent = (async () => {
    do {
      const { spec } = await stage.get('Deployment', 'web-north')
      if ((spec as { replicas: number }).replicas !== 7)
        await stage.scale('Deployment', 'web-north', 7)
    } while (await sleep(systemClock, 20, end.signal))
  })()
  await stage.conditionBecomes('DeploymentGrid', 'web', 'Ready', 'False Contested')
  t.ok((await writesIn(stage, 3_000)) <= 2)
  t.match(
    stage.events.find(({ reason }) => reason === 'Contested')?.note,
    /unit north: .*web-north.*spec\.replicas/,
  )
  end.abort()
  await opponent
  t.strictSame(stage.differences, [])
  await stage.close()
})

t.test('somebody who deletes a child again and again', async t => {
  const stage = await open('deleted', ['north', 'south'], {})
  await until('made', async () => (await stage.names('Deployment')).length === 2)
  const end = new AbortController()
  const opponent = (async () => {
    do {
      if ((await stage.find('Deployment', 'web-north')) !== undefined)
        await stage.remove('Deployment', 'web-north')
    } while (await sleep(systemClock, 20, end.signal))
  })()
  await stage.conditionBecomes('DeploymentGrid', 'web', 'Ready', 'False Contested')
  t.ok((await writesIn(stage, 3_000)) <= 2)
  end.abort()
  await opponent
  t.strictSame(stage.differences, [])
  await stage.close()
})

t.test('a delete and a mark that are forbidden are not asked for every second', async t => {
  for (const verb of ['patch', 'delete']) {
    let asked = 0
    const before = (what: string, { resource }: ResourceName): void => {
      if (what !== verb || resource !== 'deployments') return
      asked++
      throw refusal(403, 'forbidden here')
    }
    const stage = await open(`no-${verb}`, ['a', 'b', 'c', 'd'], { before }, 0)
    await until('made', async () => (await stage.names('Deployment')).length === 4)
    await stage.label('a', null)
    if (verb === 'patch') {
      await stage.stop()
      await stage.start({ between: tampered({ before }), graceMs: 60_000 })
    }
    await stage.conditionBecomes('DeploymentGrid', 'web', 'Ready', 'False Refused')
    await wait(4_000)
    t.ok(asked <= 2, `${verb}: asked ${asked} times in 4 s`)
    t.strictSame(stage.differences, [])
    await stage.close()
  }
})

t.test('one child about which the server fails stops no other', async t => {
  const units = Array.from({ length: 40 }, (_, at) => `u${String(at).padStart(2, '0')}`)
  const before = (verb: string, _type: ResourceName, { name }: ObjectName): void => {
    if (verb === 'apply' && name === 'web-u00') throw refusal(500, 'failed calling webhook')
  }
  const stage = await open('one', units, { before })
  await until('the others', async () => (await stage.names('Deployment')).length === 39)
  await stage.conditionBecomes('DeploymentGrid', 'web', 'Ready', 'False ServerError')
  t.strictSame(stage.differences, [])
  await stage.close()
})

t.test('a webhook that takes no dry runs stops nothing', async t => {
  const before = (
    verb: string,
    _type: ResourceName,
    { name }: ObjectName,
    isDryRun = false,
  ): void => {
    if (verb !== 'apply' || !name.startsWith('web-')) return
    if (isDryRun) throw refusal(400, 'admission webhook "x" does not support dry run')
  }
  const stage = await open('dry', ['north', 'south'], { before })
  await until('all are made', async () => (await stage.names('Deployment')).length === 2)
  t.equal(stage.writes.filter(({ isDryRun }) => isDryRun).length, 0)
  t.strictSame(stage.differences, [])
  await stage.close()
})

t.test('a child that changes before each write', async t => {
  let asked = 0
  const before = (verb: string, _type: ResourceName, { name }: ObjectName): void => {
    if (verb !== 'apply' || name !== 'web-north') return
    asked++
    throw refusal(409, 'the object has been modified')
  }
  const stage = await open('conflict', ['north', 'south'], { before })
  await until('the other', async () => (await stage.names('Deployment')).length === 1)
  asked = 0
  await wait(6_000)
  t.ok(asked <= 3, `asked ${asked} times in 6 s`)
  await stage.close()
})

t.test('a volume that becomes one of another kind under its name', async t => {
  const kinds = [
    { configMap: { name: 'a' } },
    { secret: { secretName: 'b' } },
    { emptyDir: {} },
    { hostPath: { path: '/x' } },
  ]
  const spec = (kind: object) => {
    const { template: pods } = template() as { template: { spec: object } }
    return { template: { ...pods, spec: { ...pods.spec, volumes: [{ name: 'v', ...kind }] } } }
  }
  const stage = new GridStage(server, 'volume')
  await stage.open()
  await stage.node('n1', 'north')
  await stage.make(deploymentGrid('web', { template: template('nginx:1', spec(kinds[0]!)) }))
  await stage.start()
  for (const [index, kind] of kinds.entries()) {
    if (index > 0) await stage.change('DeploymentGrid', 'web', { spec: { template: spec(kind) } })
    t.strictSame(await stage.written(), ['apply deployments web-north'])
    const { spec: child } = await stage.get('Deployment', 'web-north')
    t.strictSame(at(child, 'template.spec.volumes'), [{ name: 'v', ...kind }])
  }
  t.strictSame(stage.differences, [])
  await stage.close()
})

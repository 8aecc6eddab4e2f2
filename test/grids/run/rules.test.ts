// SPDX-License-Identifier: Apache-2.0
// What must hold whatever happens: in which order things come, who else writes, what the apiserver answers, who leads.
import { writeFileSync } from 'node:fs'
import { createServer, request as httpRequest, type Server } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { sleep, systemClock } from '../../../core/clock.js'
import { silentLog } from '../../../core/log.js'
import { shuffle, systemRandom } from '../../../core/random.js'
import { resolveGridsOptions } from '../../../grids/options/resolve.js'
import { makeProgram, type GridsProgram } from '../../../grids/run/program.js'
import { kubeconfigText } from '../../../sandbox/zone-objects.js'
import { serveUntilEnd } from '../../../testkit/http/serve-until-end.js'
import { startGridApi } from '../../../testkit/kube/grid-api.js'
import {
  deploymentGrid,
  serviceGrid,
  statefulSetGrid,
  template,
} from '../../../testkit/kube/grid-objects.js'
import { at, until } from '../../../testkit/kube/raw-objects.js'
import { GridStage } from '../../../testkit/kube/grid-stage.js'
import { seededRandom } from '../../../testkit/seeded-random.js'
import { shareOf } from '../../../testkit/share.js'

/** A hang, not a measurement. */
t.setTimeout(900_000)

const open = (t: Test) => startGridApi(t, { history: 50_000, watchBuffer: 50_000 })
const stageOn = async (
  t: Test,
  server: { url: string; token: string },
  id: string,
): Promise<GridStage> => {
  const stage = new GridStage(server, id)
  t.teardown(() => stage.close())
  await stage.open()
  return stage
}

/** Children without what the server makes up. */
const childrenOf = async (stage: GridStage): Promise<readonly unknown[]> => {
  const kinds = ['Deployment', 'StatefulSet', 'Service'] as const
  const lists = await Promise.all(kinds.map(kind => stage.list(kind)))
  return kinds.flatMap((kind, index) =>
    lists[index]!.map(({ metadata, spec }) => {
      const { name, labels = {} } = metadata
      const pods = at(spec, 'template.spec')
      const text = JSON.stringify([kind, name, labels['edge-health/unit'], pods])
      // A hash names the namespace, too, which is another one in each play.
      return text.replaceAll(stage.id, 'ID').replaceAll(/-[0-9a-f]{8}"/g, '-HASH"')
    }).sort(),
  )
}

t.test('any order of events ends in the same children', async t => {
  const { server } = await open(t)
  let first: readonly unknown[] | undefined
  for (const seed of [1, 2, 3, 4]) {
    const stage = await stageOn(t, server, `order${seed}`)
    const steps: (() => Promise<unknown>)[] = [
      () => stage.node('n1', 'north'),
      () => stage.node('n2', 'south'),
      () => stage.node('n3', 'Unit_A'),
      () => stage.make(deploymentGrid('web')),
      () => stage.make(statefulSetGrid('db', { headlessService: true })),
      () => stage.make(serviceGrid('web')),
    ]
    const order = shuffle(seededRandom(seed), steps)
    const before = seed % 2 === 0 ? 3 : 0
    for (const step of order.slice(0, before)) await step()
    await stage.start()
    for (const step of order.slice(before)) await step()
    await until('all is there', async () => (await childrenOf(stage)).length === 10)
    await stage.quiet()
    const children = await childrenOf(stage)
    first ??= children
    t.strictSame(children, first, `seed ${seed}`)
    await stage.stop()
    stage.writes.length = 0
    await stage.start()
    t.strictSame(await stage.written(), [], 'started anew it writes nothing')
    await stage.stop()
    for (const kind of ['DeploymentGrid', 'StatefulSetGrid', 'ServiceGrid'] as const)
      for (const { metadata } of await stage.list(kind)) await stage.remove(kind, metadata.name)
    for (const name of ['n1', 'n2', 'n3']) await stage.removeNode(name)
  }
})

t.test('no foreign object is ever deleted or written', async t => {
  const { server } = await open(t)
  const stage = await stageOn(t, server, 'foreign')
  const labels = { 'superedge.io/grid-selector': 'web', 'edge-health/unit': 'gone' }
  const theirs = ['web-gone', 'web-north', 'other', 'web-svc']
  const deployment = (name: string) => ({
    ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
    metadata: { name, labels: name === 'web-north' ? {} : labels },
    spec: template('theirs:1'),
  })
  const before = new Map<string, string>()
  for (const name of theirs)
    before.set(name, (await stage.make(deployment(name))).metadata.resourceVersion)
  await stage.node('n1', 'north')
  await stage.node('n2', 'south')
  await stage.make(deploymentGrid('web'))
  await stage.start({ graceMs: 0 })
  await stage.conditionBecomes('DeploymentGrid', 'web', 'Ready', 'False NameTaken')
  await stage.label('n2', 'west')
  await stage.quiet()
  await stage.change('DeploymentGrid', 'web', { spec: { template: template('nginx:2') } })
  await stage.quiet()
  for (const name of theirs) {
    const { metadata } = await stage.get('Deployment', name)
    t.equal(metadata.resourceVersion, before.get(name), `${name} is untouched`)
  }
  t.strictSame(stage.differences, [])
})

t.test("a unit's grace survives a restart", async t => {
  const { server } = await open(t)
  const stage = await stageOn(t, server, 'grace')
  for (const unit of ['a', 'b', 'c']) await stage.node(unit, unit)
  await stage.make(deploymentGrid('web'))
  await stage.start({ graceMs: 3_000 })
  await stage.written()
  const goneAt = Date.now()
  await stage.label('a', null)
  t.strictSame(await stage.written(), ['patch deployments web-a'], 'marked')
  await stage.stop()
  await stage.start({ graceMs: 3_000 })
  t.ok(await stage.find('Deployment', 'web-a'), 'it is still there')
  await until('it goes', async () => (await stage.find('Deployment', 'web-a')) === undefined)
  const tookMs = Date.now() - goneAt
  t.ok(tookMs >= 2_900, `not before the grace: ${tookMs} ms`)
  // A second grace would have begun with the restart, after what is quiet for a quarter of a second.
  const { metadata } = await stage.get('Deployment', 'web-b')
  t.equal(metadata.annotations?.['edge-health/unit-gone-since'], undefined)
})

t.test('an invalid grid stops no valid one', async t => {
  const { server } = await open(t)
  const stage = await stageOn(t, server, 'invalid')
  await stage.node('n1', 'north')
  await stage.make(deploymentGrid('bad', { gridUniqKey: 'bad key!' }))
  await stage.make(deploymentGrid('worse', { template: { selector: {} } }))
  await stage.make(deploymentGrid('web'))
  await stage.start()
  await stage.conditionBecomes('DeploymentGrid', 'bad', 'Ready', 'False Invalid')
  await stage.conditionBecomes('DeploymentGrid', 'worse', 'Ready', 'False Invalid')
  t.strictSame(await stage.written(), ['apply deployments web-north'])
  const bad = await stage.get('DeploymentGrid', 'bad')
  t.match(at(bad, 'status.conditions.0.message'), /gridUniqKey must be the key of a node label/)
  t.strictSame(stage.differences, [])
})

interface Front {
  readonly url: string
  /** Answer the next so many writes of children like this. */
  refuse(count: number, status: number, headers?: Record<string, string>): void
  readonly refused: () => number
  /** Most writes of children that were under way at once. */
  readonly most: () => number
}

/** A proxy in front of an API that refuses some writes. */
const frontOf = async (t: Test, target: string): Promise<Front> => {
  let left = 0
  let refused = 0
  let running = 0
  let most = 0
  let answer = { status: 429, headers: {} as Record<string, string> }
  const server: Server = createServer((request, response) => {
    const isWrite = request.method === 'PATCH' && (request.url ?? '').includes('/deployments/')
    if (isWrite && left > 0) {
      left--
      refused++
      request.resume()
      request.on('end', () => {
        response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
        response.end(JSON.stringify({ kind: 'Status', code: answer.status, message: 'not now' }))
      })
      return
    }
    if (isWrite) most = Math.max(most, ++running)
    const { method, headers, url = '' } = request
    const upstream = httpRequest(new URL(url, target), { method, headers }, inner => {
      response.writeHead(inner.statusCode!, inner.headers)
      inner.pipe(response)
      inner.on('end', () => {
        if (isWrite) running--
      })
      inner.on('error', () => response.destroy())
    })
    upstream.on('error', () => response.destroy())
    response.on('close', () => upstream.destroy())
    request.pipe(upstream)
  })
  const port = await serveUntilEnd(t, server)
  return {
    url: `http://127.0.0.1:${port}`,
    refuse: (count, status, headers = {}) => {
      left = count
      answer = { status, headers }
    },
    refused: () => refused,
    most: () => most,
  }
}

t.test('an apiserver that answers 429 and 5xx', async t => {
  const { server } = await open(t)
  const front = await frontOf(t, server.url)
  const stage = await stageOn(t, { ...server, url: front.url }, 'busy')
  const units = Array.from({ length: 60 }, (_, index) => `u${index}`)
  await Promise.all(units.map(unit => stage.node(unit, unit)))
  await stage.start()
  front.refuse(3, 429, { 'retry-after': '1' })
  const startedAt = performance.now()
  await stage.make(deploymentGrid('web'))
  await until('all are there', async () => (await stage.names('Deployment')).length === 60)
  t.ok(performance.now() - startedAt >= 3_000, 'it waited each time as it was told to')
  t.equal(front.refused(), 3)
  t.ok(front.most() <= 16, `${front.most()} at a time`)
  await stage.quiet()
  stage.writes.length = 0
  front.refuse(3, 503)
  await stage.change('DeploymentGrid', 'web', { spec: { template: template('nginx:2') } })
  const isNew = async (): Promise<boolean> =>
    (await stage.list('Deployment')).every(
      child => at(child, 'spec.template.spec.containers.0.image') === 'nginx:2',
    )
  await until('all are new', isNew)
  t.equal(front.refused(), 6)
  const dryRuns = stage.writes.filter(({ isDryRun }) => isDryRun).length
  t.equal(dryRuns, 4, 'while the server fails one request asks for all')
})

t.test('two leaders, one of them cut off in the middle of very many applies', async t => {
  const { api, server, createSystemNamespace } = await open(t)
  const UNITS = shareOf(t, 1_000, 300, 'units')
  const stage = await stageOn(t, server, 'leaders')
  await createSystemNamespace()
  await Promise.all(
    Array.from({ length: UNITS }, (_, index) => stage.node(`n${index}`, `u${index}`)),
  )
  await stage.make(deploymentGrid('web'))
  const folder = t.testdir()
  const programOf = (name: string, port: number): GridsProgram => {
    const kubeconfig = join(folder, name)
    writeFileSync(kubeconfig, kubeconfigText(server.url, name, api.addClient(name)))
    const flags = { kubeconfig, 'status-address': `127.77.0.1:${port}`, identity: name }
    const given = Object.entries(flags).map(([flag, text]) => ({ name: flag, text }))
    const { options } = resolveGridsOptions({ flags: given, env: {} })
    const seams = { clock: systemClock, random: systemRandom, log: silentLog, version: 'test' }
    const program = makeProgram(options, { ...seams, environment: {} })
    t.teardown(() => program.stop())
    return program
  }
  const applies = (client: string, status: number) =>
    api.requests.filter(
      call =>
        call.client === client &&
        call.verb === 'patch' &&
        call.resource === 'deployments' &&
        call.status === status,
    ).length
  const programs = [programOf('one', 51_911), programOf('two', 51_912)]
  await Promise.all(programs.map(program => program.start()))
  const made = (): number => api.store.list('deployments').length
  await until('a part is there', () => made() > UNITS / 5)
  const first = applies('one', 201) > 0 ? 'one' : 'two'
  const second = first === 'one' ? 'two' : 'one'
  api.cutLink(first, 'refused')
  const left = made()
  t.ok(left < UNITS, `${left} were made by the first`)
  await until('all are there', () => made() === UNITS, 240_000)
  t.equal(made(), UNITS)
  t.equal(applies(first, 201) + applies(second, 201), UNITS + 2, 'each once, and two dry runs')
  t.equal(applies(second, 200), 0, 'what was there is not applied anew')
  t.equal(applies(first, 200), 0)
  api.healLink(first)
  await sleep(systemClock, 1_000, new AbortController().signal)
  t.equal(made(), UNITS)
})

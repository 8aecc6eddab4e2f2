// SPDX-License-Identifier: Apache-2.0
import { sleep, systemClock } from '../../core/clock.js'
import { CHILD_RESOURCES, GRID_RESOURCES, NODES } from '../../grids/run/resources.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import { metadataOf, statusOf } from '../../kube/client/resource.js'
import { deploymentGrid, template } from '../../testkit/kube/grid-objects.js'
import { clientOf, rawType, until } from '../../testkit/kube/raw-objects.js'
import { installCrds, readCrds } from '../../testkit/kube/grid-crds.js'
import { cpuMs, memoryOf } from '../agent/proc.js'
import type { Row } from '../wrapper/table.js'
import { countOf, openPlane, since, type BenchPlane, type Requests } from './plane.js'
import { startController, type Controller } from './process.js'

export interface Size {
  readonly grids: number
  readonly units: number
  readonly idleMs: number
  /** Rest before the idle time is looked at. */
  readonly settleMs: number
  /** False: counts alone, without times, CPU and memory. */
  readonly isTimed: boolean
}

const never = new AbortController().signal
const PATIENCE_MS = 300_000
const namespace = 'default'
const { Deployment: DEPLOYMENTS } = CHILD_RESOURCES
const { DeploymentGrid: GRIDS } = GRID_RESOURCES

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

/** Run over numbers, 16 at a time. */
const each = async (count: number, work: (index: number) => Promise<unknown>): Promise<void> => {
  const left = Array.from({ length: count }, (_, index) => index).values()
  const lane = async (): Promise<void> => {
    for (const index of left) await work(index)
  }
  await Promise.all(Array.from({ length: 16 }, lane))
}

const APPLIES = /^APPLY deployments /
const DRY_RUNS = /^dry-run APPLY deployments /
const STATUSES = /^PATCH deploymentgrids\/status /
const REFUSED = / (409|429)$/
/** What a controller at rest does, and the bench: the Lease, watches that end and begin by the clock, metrics. */
const AT_REST =
  /^(WATCH |(GET|PATCH|PUT) leases |.* (customresourcedefinitions|apiservices)|GET (\/openapi\S*)? 200)/

class Bench {
  readonly #size: Size
  readonly #plane: BenchPlane
  readonly #client: ResourceClient
  readonly #say: (line: string) => void
  readonly rows: Row[] = []
  #controller: Controller

  constructor(
    size: Size,
    parts: {
      readonly plane: BenchPlane
      readonly client: ResourceClient
      readonly controller: Controller
    },
    say: (line: string) => void,
  ) {
    this.#size = size
    this.#plane = parts.plane
    this.#client = parts.client
    this.#controller = parts.controller
    this.#say = say
  }

  get controller(): Controller {
    return this.#controller
  }

  async run(): Promise<void> {
    for (const [what, step] of [
      ['create', () => this.#create()],
      ['image', () => this.#image()],
      ['move', () => this.#move()],
      ['ready', () => this.#ready()],
      ['idle', () => this.#idle()],
      ['cold start', () => this.#coldStart()],
    ] as const) {
      this.#say(`${what} …`)
      await step()
    }
  }

  #row(what: string, bar: string, measured: string, isMet: boolean): void {
    this.rows.push({ what, bar, measured, isMet })
  }

  /** Of a time, of CPU or of memory: says nothing on a busy machine. */
  #timed(...row: readonly [what: string, bar: string, measured: string, isMet: boolean]): void {
    if (this.#size.isTimed) this.#row(...row)
  }

  /** What the step asked of the apiserver, and how long it took until it was done. */
  async #during(
    act: () => Promise<unknown>,
    isDone: () => Promise<boolean>,
  ): Promise<{ readonly ms: number; readonly requests: Requests; readonly cpu: number }> {
    const before = await this.#plane.requests()
    const cpu = cpuMs(this.#controller.pid)
    const startedAt = performance.now()
    await act()
    await until('it is done', isDone, PATIENCE_MS)
    const ms = performance.now() - startedAt
    await this.#rest()
    const requests = since(before, await this.#plane.requests())
    return { ms, requests, cpu: cpuMs(this.#controller.pid) - cpu }
  }

  /** Until nothing was looked at for two seconds. */
  async #rest(): Promise<void> {
    let last = -1
    let at = performance.now()
    await until(
      'the controller rests',
      async () => {
        const { reconcileSeconds, queue } = await this.#controller.status()
        if (reconcileSeconds.count !== last || queue.ready + queue.running > 0)
          at = performance.now()
        last = reconcileSeconds.count
        await sleep(systemClock, 100, never)
        return performance.now() - at > 2_000
      },
      PATIENCE_MS,
    )
  }

  async #applied(): Promise<number> {
    const { counts } = await this.#controller.status()
    return counts.writes['apply done'] ?? 0
  }

  async #create(): Promise<void> {
    const { grids, units } = this.#size
    const wanted = grids * units
    const { ms, requests, cpu } = await this.#during(
      () => each(grids, index => this.#makeGrid(`g${index}`)),
      async () => (await this.#applied()) >= wanted,
    )
    const page = await this.#client.list(metadataOf(DEPLOYMENTS), { namespace }, never)
    const whole = `${grids} grids × ${units} units`
    this.#timed(`${whole}: all children are there`, '≤ 40 s', seconds(ms), ms <= 40_000)
    this.#row(
      `${whole}: children`,
      String(wanted),
      String(page.items.length),
      page.items.length === wanted,
    )
    this.#counts(whole, requests, wanted, grids)
    this.#timed(
      `${whole}: CPU until all is reported`,
      "≤ 13.6 s, twice the Go controller's",
      seconds(cpu),
      cpu <= 13_600,
    )
    const { peakMiB } = memoryOf(this.#controller.pid)
    this.#timed(`${whole}: RSS peak`, '≤ 256 MiB', `${peakMiB.toFixed(0)} MiB`, peakMiB <= 256)
    this.#say(`requests: ${JSON.stringify(Object.fromEntries(requests))}`)
  }

  /** Applies and dry runs, and what the server had against requests. */
  #counts(what: string, requests: Requests, applies: number, dryRuns: number): void {
    const got = countOf(requests, APPLIES)
    this.#row(`${what}: applies`, `exactly ${applies}`, String(got), got === applies)
    const dry = countOf(requests, DRY_RUNS)
    this.#row(`${what}: dry runs`, `exactly ${dryRuns}`, String(dry), dry === dryRuns)
    const refused = countOf(requests, REFUSED)
    this.#row(`${what}: 409 and 429`, '0', String(refused), refused === 0)
  }

  async #image(): Promise<void> {
    const { units } = this.#size
    const before = await this.#applied()
    const { template: pods } = template('nginx:2') as { template: object }
    const patch = { type: 'merge', body: { spec: { template: { template: pods } } } } as const
    const { ms, requests } = await this.#during(
      () => this.#client.patch(rawType(GRIDS), { namespace, name: 'g0' }, { patch }, never),
      async () => (await this.#applied()) >= before + units,
    )
    this.#counts('a new image of one grid', requests, units, 1)
    this.#timed('a new image of one grid: until all are applied', '–', seconds(ms), true)
  }

  async #move(): Promise<void> {
    const { grids } = this.#size
    const before = await this.#applied()
    const patch = { type: 'merge', body: { metadata: { labels: { site: 'moved' } } } } as const
    const { ms, requests } = await this.#during(
      () => this.#client.patch(rawType(NODES), { name: 'n1' }, { patch }, never),
      async () => (await this.#applied()) >= before + grids,
    )
    this.#timed(
      "a node changes its unit: the new unit's children of all grids",
      '≤ 1 s',
      seconds(ms),
      ms <= 1_000,
    )
    this.#counts('a node changes its unit', requests, grids, 0)
  }

  async #ready(): Promise<void> {
    const { units } = this.#size
    const count = Math.min(1_000, units)
    const before = await this.#plane.requests()
    await each(count, async index => {
      const of = { namespace, name: `g1-u${index}` }
      const status = {
        ...{ observedGeneration: 1, replicas: 2, updatedReplicas: 2 },
        ...{ readyReplicas: 2, availableReplicas: 2 },
      }
      const patch = { type: 'merge', body: { status } } as const
      await this.#client.patch(statusOf(rawType(DEPLOYMENTS)), of, { patch }, never)
    })
    await this.#rest()
    const requests = since(before, await this.#plane.requests())
    const writes = countOf(requests, STATUSES)
    const applies = countOf(requests, APPLIES)
    const what = `${count} children report to be ready`
    this.#row(`${what}: status writes`, '≤ 5', String(writes), writes <= 5)
    this.#row(`${what}: applies`, '0', String(applies), applies === 0)
  }

  async #idle(): Promise<void> {
    const { idleMs, settleMs } = this.#size
    await this.#rest()
    const worked = cpuMs(this.#controller.pid)
    await sleep(systemClock, settleMs, never)
    const settled = cpuMs(this.#controller.pid) - worked
    this.#timed(`the first ${settleMs / 1_000} s of rest: CPU`, '–', seconds(settled), true)
    const before = await this.#plane.requests()
    const cpu = cpuMs(this.#controller.pid)
    await sleep(systemClock, idleMs, never)
    const used = cpuMs(this.#controller.pid) - cpu
    const requests = since(before, await this.#plane.requests())
    const other = [...requests.keys()].filter(key => !AT_REST.test(key))
    const what = `idle for ${idleMs / 1_000} s`
    this.#row(`${what}: requests but the Lease's`, '0', other.join('; ') || '0', other.length === 0)
    const bar = 0.3 * (idleMs / 60_000)
    this.#timed(
      `${what}: CPU`,
      `≤ ${bar.toFixed(2)} s`,
      `${(used / 1_000).toFixed(2)} s`,
      used <= bar * 1_000,
    )
  }

  async #coldStart(): Promise<void> {
    await this.#controller.stop()
    const before = await this.#plane.requests()
    const startedAt = performance.now()
    this.#controller = await startController(`${this.#plane.plane.dir}/kubeconfig`)
    await this.#rest()
    const ms = performance.now() - startedAt
    const requests = since(before, await this.#plane.requests())
    const writes = countOf(requests, /^(dry-run )?(APPLY|POST|PUT|PATCH|DELETE) (?!leases)/)
    this.#row('started anew over right children: writes', '0', String(writes), writes === 0)
    const cpu = seconds(cpuMs(this.#controller.pid))
    this.#timed('started anew: until all are looked at; CPU', '–', `${seconds(ms)}; ${cpu}`, true)
    const { peakMiB } = memoryOf(this.#controller.pid)
    this.#timed('started anew: RSS peak', '≤ 256 MiB', `${peakMiB.toFixed(0)} MiB`, peakMiB <= 256)
    this.#say(`requests: ${JSON.stringify(Object.fromEntries(requests))}`)
  }

  async #makeGrid(name: string): Promise<void> {
    const body = { ...deploymentGrid(name), metadata: { name, namespace } }
    await this.#client.create(rawType(GRIDS), { namespace }, { body }, never)
  }
}

/** Play it all to a real apiserver. */
export const gridRowsOf = async (
  size: Size,
  say: (line: string) => void,
): Promise<readonly Row[]> => {
  const plane = await openPlane(say)
  const { url, adminToken: token, ca, dir } = plane.plane
  const client = clientOf({ url, token, ca }, 'bench')
  let bench: Bench | undefined
  try {
    await installCrds(client, readCrds('deploy/components/grids/crds.yaml'))
    const lease = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'edge-system' } }
    const namespaces = { group: '', version: 'v1', resource: 'namespaces' }
    await client.create(rawType(namespaces), {}, { body: lease }, never)
    await each(size.units, async index => {
      const metadata = { name: `n${index}`, labels: { site: `u${index}` } }
      const body = { apiVersion: 'v1', kind: 'Node', metadata }
      await client.create(rawType(NODES), {}, { body }, never)
    })
    const controller = await startController(`${dir}/kubeconfig`)
    bench = new Bench(size, { plane, client, controller }, say)
    await bench.run()
    return bench.rows
  } finally {
    await bench?.controller.stop()
    await client.close()
    await plane.stop()
  }
}

// SPDX-License-Identifier: Apache-2.0
import { join } from 'node:path'
import { textAt } from '../../core/json-at.js'
import { fileStore } from '../../testkit/edge/store.js'
import { never, rawType } from '../../testkit/kube/raw-objects.js'
import { cpuMs, memoryOf } from '../agent/proc.js'
import { percentile, type Row } from '../wrapper/table.js'
import { Bed, CONFIGMAPS, each, names, patiently, PODS, rest, SHOP, type Edges } from './bed.js'

export interface Size {
  readonly edges: number
  /** Edges of the row about memory. */
  readonly many: number
  readonly seconds: number
  /** Of the numbers of objects. */
  readonly share: number
  /** False: counts alone, without times, CPU and memory. */
  readonly isTimed: boolean
}

type Say = (line: string) => void

export const PARTS = [
  'leases',
  'memory',
  'restart',
  'flood',
  'unreferenced',
  'objects',
  'echo',
] as const
export type Part = (typeof PARTS)[number]

const FLOODERS = 50
const ASKED_PER_SECOND = 30
const UNREFERENCED = 5_000
const OBJECTS = 2_000
const PER_POD = 50

const mib = (value: number): string => `${value.toFixed(0)} MiB`
const ms = (value: number): string => `${value.toFixed(0)} ms`

/** Rows of one part; those of a time, of CPU or of memory say nothing on a busy machine. */
class Rows {
  readonly rows: Row[] = []
  readonly #isTimed: boolean

  constructor({ isTimed }: Size) {
    this.#isTimed = isTimed
  }

  count(what: string, bar: string, measured: string, isMet: boolean): void {
    this.rows.push({ what, bar, measured, isMet })
  }

  timed(...row: readonly [what: string, bar: string, measured: string, isMet: boolean]): void {
    if (this.#isTimed) this.count(...row)
  }

  /** Nobody was hurt. */
  unharmed(what: string, edges: readonly Edges[]): void {
    const mishaps = edges.reduce((sum, each) => sum + each.mishaps, 0)
    this.count(`${what}: edges that died or lost their connection`, '0', String(mishaps), mishaps === 0) // prettier-ignore
  }
}

const inBed = async (
  size: Size,
  say: Say,
  play: (bed: Bed, rows: Rows) => Promise<void>,
): Promise<readonly Row[]> => {
  const bed = await Bed.open(say)
  const rows = new Rows(size)
  try {
    await play(bed, rows)
    return rows.rows
  } finally {
    await bed.close()
  }
}

const leases = (size: Size, say: Say): Promise<readonly Row[]> =>
  inBed(size, say, async (bed, rows) => {
    const startedAt = performance.now()
    const edges = await bed.start(names('edge-', size.edges))
    const registered = performance.now() - startedAt
    const what = `${size.edges} edges`
    rows.timed(`${what}: until all have a Lease`, '–', `${(registered / 1_000).toFixed(1)} s`, true)
    const { pid } = bed.bridge
    const cpu = cpuMs(pid)
    const beganAt = performance.now()
    const { ms: trips, failed } = await edges.leasesDuring(() => rest(size.seconds))
    const share = (100 * (cpuMs(pid) - cpu)) / (performance.now() - beganAt)
    const [p50, p99] = [percentile(trips, 0.5), percentile(trips, 0.99)]
    rows.count(`${what}: Leases that were not written`, '0', `${failed} of ${failed + trips.length}`, failed === 0) // prettier-ignore
    rows.timed(`${what}: Lease round trip p50`, '≤ 12 ms', ms(p50), p50 <= 12)
    rows.timed(`${what}: Lease round trip p99`, '≤ 92 ms', ms(p99), p99 <= 92)
    rows.timed(`${what}: CPU`, '≤ 21.6 % of a core', `${share.toFixed(1)} %`, share <= 21.6)
    const { rssMiB, peakMiB } = memoryOf(pid)
    rows.timed(`${what}: RSS`, '≤ 150 MB', `${mib(rssMiB)}, peak ${mib(peakMiB)}`, rssMiB <= 143)
    rows.unharmed(what, [edges])
  })

const memory = (size: Size, say: Say): Promise<readonly Row[]> =>
  inBed(size, say, async (bed, rows) => {
    const idle = memoryOf(bed.bridge.pid).rssMiB
    rows.timed('no edge: RSS', '–', mib(idle), true)
    const edges = await bed.start(names('edge-', size.many))
    await rest(size.seconds)
    const what = `${size.many} edges`
    const { rssMiB, peakMiB } = memoryOf(bed.bridge.pid)
    rows.timed(`${what}: RSS`, '≤ 320 MB', `${mib(rssMiB)}, peak ${mib(peakMiB)}`, rssMiB <= 305)
    rows.unharmed(what, [edges])
  })

const restart = (size: Size, say: Say): Promise<readonly Row[]> =>
  inBed(size, say, async (bed, rows) => {
    const edges = await bed.start(names('edge-', size.many))
    const atWork = edges.mark()
    const startedAt = performance.now()
    await bed.restartBridge()
    await patiently('all edges renew their Leases again', async () => {
      await rest(1)
      return atWork() === size.many
    })
    const seconds = (performance.now() - startedAt) / 1_000
    const what = `${size.many} edges behind one address, the bridge starts anew`
    const { listeners } = (await bed.bridge.status())!
    const delayed = listeners['edges']?.delayed ?? 0
    rows.count(`${what}: that renew their Leases again`, 'all', String(atWork()), atWork() === size.many) // prettier-ignore
    rows.count(`${what}: handshakes that waited their turn`, '–', String(delayed), true)
    rows.timed(`${what}: until all do`, '–', `${seconds.toFixed(0)} s`, true)
    rows.count(`${what}: edges that died`, '0', String(edges.dead), edges.dead === 0)
  })

const flood = (size: Size, say: Say): Promise<readonly Row[]> =>
  inBed(size, say, async (bed, rows) => {
    const count = Math.min(FLOODERS, size.edges / 2)
    const resource = `${SHOP}/configmap/asked`
    await bed.makeConfigMap('asked', { tea: '1' })
    const [calm, flooding] = await Promise.all([
      bed.start(names('edge-', size.edges - count)),
      // An edge sends 30 messages a second at most; these ask as much, and their Leases and acknowledgements come on top.
      bed.start(names('flood-', count), { times: { sendsPerSecond: 200 } }),
    ])
    await each(count, index => bed.makePod(`pod-${index}`, `flood-${index}`, ['asked']))
    await patiently('the edges that ask have their Pods', async () => {
      const views = await flooding.views()
      return views.every(({ pods }) => Object.values(pods).every(({ phase }) => phase === 'Running') && Object.keys(pods).length > 0) // prettier-ignore
    })
    const { pid } = bed.bridge
    const cpu = cpuMs(pid)
    const beganAt = performance.now()
    const questions = { resource, perSecond: ASKED_PER_SECOND, seconds: size.seconds }
    let asked = 0
    let answered = 0
    const answers: number[] = []
    const { ms: trips, failed } = await calm.leasesDuring(async () => {
      for (const flood of await Promise.all(flooding.processes.map(each => each.ask(questions)))) {
        asked += flood.asked
        answered += flood.answered
        for (const each of flood.ms) answers.push(each)
      }
    })
    const share = (100 * (cpuMs(pid) - cpu)) / (performance.now() - beganAt)
    const what = `${count} of ${size.edges} edges ask ${ASKED_PER_SECOND} times a second`
    rows.count(`${what}: answered`, 'all', `${answered} of ${asked}`, answered === asked)
    rows.timed(`${what}: answers p50 / p99`, '–', `${ms(percentile(answers, 0.5))} / ${ms(percentile(answers, 0.99))}`, true) // prettier-ignore
    const p99 = percentile(trips, 0.99)
    rows.timed(`${what}: others' Lease round trip p50`, '–', ms(percentile(trips, 0.5)), true)
    rows.timed(`${what}: others' Lease round trip p99`, '≤ 100 ms', ms(p99), p99 <= 100)
    rows.count(`${what}: others' Leases that were not written`, '0', String(failed), failed === 0)
    rows.timed(`${what}: CPU`, '–', `${share.toFixed(1)} %`, true)
    rows.unharmed(what, [calm, flooding])
  })

const unreferenced = (size: Size, say: Say): Promise<readonly Row[]> =>
  inBed(size, say, async (bed, rows) => {
    const edges = await bed.start(names('edge-', size.edges))
    await rest(size.seconds)
    const before = memoryOf(bed.bridge.pid).rssMiB
    const count = Math.round(UNREFERENCED * size.share)
    const text = 'x'.repeat(100 << 10)
    await each(count, index => bed.makeConfigMap(`unreferenced-${index}`, { text }))
    await patiently('the bridge knows of all', async () => {
      const tables = (await bed.bridge.status())?.tables
      return (tables?.['configmaps']?.objects ?? 0) >= count
    })
    await rest(size.seconds)
    const what = `${count} ConfigMaps of 100 KiB that no Pod refers to`
    const more = memoryOf(bed.bridge.pid).rssMiB - before
    rows.timed(`${what}: RSS`, '+ ≤ 20 MB', `+ ${mib(more)}`, more <= 19)
    const frames = await edges.views()
    const unasked = frames.reduce((sum, view) => sum + (view.unasked['configmap'] ?? 0), 0)
    rows.count(`${what}: edges that were sent one`, '0', String(unasked), unasked === 0)
    rows.unharmed(what, [edges])
  })

const objects = (size: Size, say: Say): Promise<readonly Row[]> =>
  inBed(size, say, async (bed, rows) => {
    const count = Math.round(OBJECTS * size.share)
    const folder = join(bed.dir, 'edges')
    const edges = await bed.start(['edge-0'], { folder, times: { leaseMs: 2_000 } })
    await each(count, index => bed.makeConfigMap(`object-${index}`, { round: '1' }))
    const all = names('object-', count)
    await each(Math.ceil(count / PER_POD), index =>
      bed.makePod(`pod-${index}`, 'edge-0', all.slice(index * PER_POD, (index + 1) * PER_POD)),
    )
    const have = (round: string): number =>
      fileStore(join(folder, 'edge-0.jsonl')).entries.filter(
        ([resource, object]) =>
          resource.startsWith(`${SHOP}/configmap/object-`) && textAt(object, 'data', 'round') === round, // prettier-ignore
      ).length
    await patiently('all Pods run', async () => {
      await rest(1)
      const [view] = await edges.views()
      const pods = Object.values(view?.pods ?? {})
      return pods.length * PER_POD >= count && pods.every(({ phase }) => phase === 'Running')
    })
    await rest(5)
    const startedAt = performance.now()
    const { ms: trips, failed } = await edges.leasesDuring(async () => {
      const patch = { type: 'merge', body: { data: { round: '2' } } } as const
      await each(count, index => {
        const of = { namespace: SHOP, name: `object-${index}` }
        return bed.client.patch(rawType(CONFIGMAPS), of, { patch }, never)
      })
      await patiently('the edge has all', async () => {
        await rest(1)
        return have('2') === count
      })
    })
    const seconds = (performance.now() - startedAt) / 1_000
    const what = `${count} objects of one edge change at once`
    const lost = count - have('2')
    const [view] = await edges.views()
    rows.count(`${what}: lost`, '0', String(lost), lost === 0)
    rows.count(`${what}: dropped by the edge`, '0', String(view?.dropped), view?.dropped === 0)
    rows.timed(`${what}: until it has all`, '–', `${seconds.toFixed(0)} s`, true)
    const p99 = percentile(trips, 0.99)
    rows.timed(`${what}: its Lease round trip p99`, '< 1 s', ms(p99), p99 < 1_000)
    rows.count(`${what}: its Leases that were not written`, '0', `${failed} of ${failed + trips.length}`, failed === 0) // prettier-ignore
    rows.unharmed(what, [edges])
  })

const echo = (size: Size, say: Say): Promise<readonly Row[]> =>
  inBed(size, say, async (bed, rows) => {
    const edges = await bed.start(names('edge-', size.edges), { times: { nodeStatusMs: 10_000 } })
    await each(size.edges, index => bed.makePod(`pod-${index}`, `edge-${index}`, []))
    await patiently('all Pods run', async () => {
      await rest(0.5)
      const page = await bed.client.list(rawType(PODS), { namespace: SHOP }, never)
      return page.items.every(({ status }) => textAt(status, 'phase') === 'Running')
    })
    await rest(Math.max(15, size.seconds))
    const { upstream } = (await bed.bridge.status())!
    const done = (handler: string): number => upstream.requests[`${handler} done`] ?? 0
    const views = await edges.views()
    const unasked = (type: string): number =>
      views.reduce((sum, view) => sum + (view.unasked[type] ?? 0), 0)
    const pods = `${size.edges} Pods, whose edges sent their status ${done('patch-pod-status')} times`
    rows.count(`${pods}: messages to edges about them`, `exactly ${size.edges}`, String(unasked('pod')), unasked('pod') === size.edges) // prettier-ignore
    const nodes = `${size.edges} Nodes, whose status was sent ${done('patch-node-status')} times`
    // Each is sent its Node once, as it has become.
    rows.count(`${nodes}: messages to edges about them`, `≤ ${size.edges}`, String(unasked('node')), unasked('node') <= size.edges) // prettier-ignore
    rows.unharmed(pods, [edges])
  })

/** Play a part to a real apiserver. */
export const MEASURES: Readonly<Record<Part, (size: Size, say: Say) => Promise<readonly Row[]>>> = {
  ...{ leases, memory, restart, flood, unreferenced, objects, echo },
}

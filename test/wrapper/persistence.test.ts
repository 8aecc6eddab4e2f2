// SPDX-License-Identifier: Apache-2.0
import t, { type Test } from 'tap'
import type { WatchStatus } from '../../kube/client/watching.js'
import type { Folder } from '../../wrapper/disk/folder.js'
import { listFile, type SavedItems } from '../../wrapper/disk/list-file.js'
import { NodeDirectory } from '../../wrapper/health/node-directory.js'
import { Persistence } from '../../wrapper/persistence.js'
import type { WrapperServer } from '../../wrapper/server.js'
import type { Resource } from '../../wrapper/store/resources.js'
import { FakeClock, settle } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { item, makeStore, node, service } from './wrapper-world.js'

const BOOT_WAIT_MS = 3_000
const QUIET: WatchStatus = {
  ...{ state: 'listing', lastHeardAt: -Infinity, lists: 0, trouble: undefined, isAway: false },
}

const saved: Partial<Record<string, SavedItems>> = {
  nodes: [item('nodes', node('a'))],
  services: [item('services', service('web'))],
  servicecidrs: 'absent',
}

/** A start with lists on disk, and an apiserver of which the test says what it has answered. */
const makeBed = async (files = saved) => {
  const clock = new FakeClock()
  const log = recordingLog()
  const written: string[] = []
  const disk = { opens: Promise.resolve() }
  const folder: Folder = {
    read: async name => {
      await disk.opens
      const what = name.replace('.list', '')
      const items = files[what]
      if (items === undefined) return undefined
      const pieces = [...listFile(what, { savedAt: 5, items })].map(piece => Buffer.from(piece))
      return { size: pieces.reduce((sum, { length }) => sum + length, 0), pieces }
    },
    replace: name => Promise.resolve(void written.push(name)),
  }
  const { store } = makeStore()
  const upstream: Partial<Record<Resource, WatchStatus>> = {}
  const persistence = new Persistence(
    { bootWaitMs: BOOT_WAIT_MS, savePeriodMs: 1_000 },
    { folder, clock, log, directory: new NodeDirectory(() => undefined) },
  )
  await persistence.open({ store, upstream } as unknown as WrapperServer)
  const stop = new AbortController()
  const recalled = new Set<Resource>()
  return {
    ...{ clock, store, persistence, disk, stop, written, recalled },
    follow: (resource: Resource): void => {
      upstream[resource] = QUIET
      void persistence.recall(resource, stop.signal).then(() => recalled.add(resource))
    },
    listed: (resource: Resource): void => {
      upstream[resource] = { ...QUIET, state: 'watching', lists: 1 }
      store.upstream(resource).replace([])
      persistence.changed(resource)
    },
    refused: (resource: Resource): void => {
      upstream[resource] = { ...QUIET, state: 'backing-off', trouble: '404 NotFound' }
      store.absent(resource)
      persistence.changed(resource)
    },
    failed: (resource: Resource): void => {
      upstream[resource] = { ...QUIET, state: 'backing-off', trouble: 'ECONNREFUSED' }
    },
    shows: (resource: Resource): string => {
      const table = store.table(resource)
      return `${table.state} ${table.size}`
    },
  }
}
type Bed = Awaited<ReturnType<typeof makeBed>>

const pass = async (bed: Bed, ms: number): Promise<void> => {
  await bed.clock.advance(ms)
  await settle()
}

const FW6 = (title: string, body: (t: Test, bed: Bed) => Promise<void>): void =>
  void t.test(`FW6: ${title}`, async t => body(t, await makeBed()))

FW6(
  'a 404 while the apiserver answers nothing else is not believed: the disk is served',
  async (t, bed) => {
    for (const resource of ['nodes', 'services'] as const) bed.follow(resource)
    bed.refused('nodes')
    await pass(bed, BOOT_WAIT_MS - 100)
    t.equal(bed.shows('nodes'), 'absent 0', 'the apiserver has its time to say more')
    t.strictSame([...bed.recalled], [])
    await pass(bed, 200)
    t.equal(bed.shows('nodes'), 'filled 1')
    t.ok(bed.persistence.servedFromDisk.has('nodes'))
    t.equal(bed.shows('services'), 'filled 1', 'what hangs comes from disk too')
    await pass(bed, 60_000)
    t.strictSame(bed.written, [], 'the lists on disk stay')
  },
)

FW6('a 404 of an apiserver that lists another resource is its word', async (t, bed) => {
  for (const resource of ['nodes', 'services'] as const) bed.follow(resource)
  bed.refused('nodes')
  await pass(bed, 1_000)
  bed.listed('services')
  await pass(bed, 100)
  t.strictSame([...bed.recalled].sort(), ['nodes', 'services'], 'nobody waits any more')
  await pass(bed, BOOT_WAIT_MS)
  t.equal(bed.shows('nodes'), 'absent 0')
  t.notOk(bed.persistence.servedFromDisk.has('nodes'))
})

FW6('a 404 that comes after the list was read from disk takes nothing away', async (t, bed) => {
  bed.follow('nodes')
  await pass(bed, BOOT_WAIT_MS + 100)
  t.equal(bed.shows('nodes'), 'filled 1')
  bed.refused('nodes')
  t.equal(bed.shows('nodes'), 'filled 1')
})

FW6(
  'trouble that is no 404 ends the wait, and a list is never waited for again',
  async (t, bed) => {
    for (const resource of ['nodes', 'services'] as const) bed.follow(resource)
    bed.failed('nodes')
    bed.listed('services')
    await pass(bed, 100)
    t.equal(bed.shows('nodes'), 'filled 1', 'another that is listed says nothing of this one')
    t.equal(bed.shows('services'), 'filled 0', 'an empty list of the apiserver is a list')
    t.notOk(bed.persistence.servedFromDisk.has('services'))
  },
)

FW6(
  'that a resource was absent before is remembered, and a list goes before it',
  async (t, bed) => {
    bed.follow('servicecidrs')
    await pass(bed, BOOT_WAIT_MS + 100)
    t.equal(bed.shows('servicecidrs'), 'absent 0')
    t.ok(bed.persistence.servedFromDisk.has('servicecidrs'))
    bed.listed('servicecidrs')
    t.equal(bed.shows('servicecidrs'), 'filled 0')
  },
)

t.test('FW6: without a list on disk there is nothing to serve', async t => {
  const bed = await makeBed({})
  bed.follow('nodes')
  bed.follow('services')
  bed.refused('nodes')
  await pass(bed, BOOT_WAIT_MS + 100)
  t.strictSame([...bed.recalled].sort(), ['nodes', 'services'])
  t.equal(bed.shows('nodes'), 'absent 0')
  t.equal(bed.shows('services'), 'empty 0')
})

FW6('a stop while it waits serves nothing', async (t, bed) => {
  bed.follow('nodes')
  bed.stop.abort()
  await pass(bed, BOOT_WAIT_MS + 100)
  t.strictSame([...bed.recalled], ['nodes'])
  t.equal(bed.shows('nodes'), 'empty 0')
})

FW6('what the apiserver tells while the disk is read goes before the disk', async (t, bed) => {
  let open = (): void => undefined
  bed.disk.opens = new Promise(resolve => (open = resolve))
  for (const resource of ['nodes', 'services'] as const) bed.follow(resource)
  bed.refused('nodes')
  await pass(bed, BOOT_WAIT_MS + 100)
  bed.listed('services')
  open()
  await pass(bed, 0)
  t.equal(bed.shows('services'), 'filled 0')
  t.equal(bed.shows('nodes'), 'absent 0', 'the 404 is believed now')
  t.equal(bed.persistence.servedFromDisk.size, 0)
})

t.test(
  'services are not served without nodes while the list of those is read from disk',
  async t => {
    const bed = await makeBed({ ...saved, endpointslices: [] })
    let open = (): void => undefined
    bed.disk.opens = new Promise(resolve => (open = resolve))
    bed.listed('services')
    bed.listed('endpointslices')
    bed.follow('nodes')
    const isOver = bed.persistence.stopWaiting(bed.stop.signal)
    await pass(bed, BOOT_WAIT_MS + 100)
    t.equal(bed.shows('endpointslices'), 'empty 0', 'they wait for it')
    open()
    await isOver
    t.equal(bed.shows('nodes'), 'filled 1')
    t.equal(bed.shows('endpointslices'), 'filled 0')
  },
)

t.test('without a list of nodes the rest is served once the wait is over', async t => {
  const bed = await makeBed({})
  for (const resource of ['services', 'endpointslices'] as const) bed.listed(resource)
  bed.follow('nodes')
  const isOver = bed.persistence.stopWaiting(bed.stop.signal)
  await pass(bed, BOOT_WAIT_MS - 100)
  t.equal(bed.shows('endpointslices'), 'empty 0')
  await pass(bed, 200)
  await isOver
  t.equal(bed.shows('endpointslices'), 'filled 0')
})

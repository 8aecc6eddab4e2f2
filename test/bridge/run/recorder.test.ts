// SPDX-License-Identifier: Apache-2.0
// What edges hold: on a real disk, in the cluster, and as cloudcore keeps it.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { RecordDisk } from '../../../bridge/run/recorder/record-disk.js'
import { recordedNode, recordMapName } from '../../../bridge/run/recorder/record-map.js'
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { MAPS, mapBody, MemoryDisk, nodeBody, NODES, podBody, PODS, Stage } from './memory-stage.js'

const E1 = 'e1' as NodeName
const SYNCS = {
  ...{ group: 'reliablesyncs.kubeedge.io', version: 'v1alpha1', resource: 'objectsyncs' },
}
const RECORD = { namespace: 'edge-system', name: 'bridge-record-e1' }

t.test('a folder keeps records and a name, readable by its owner alone', async t => {
  const folder = join(t.testdir(), 'state')
  const log = recordingLog()
  const disk = new RecordDisk(folder, { clock: new FakeClock(), log })
  t.equal(await disk.writer('aaaaaaaa'), 'aaaaaaaa')
  t.equal(
    await new RecordDisk(folder, { clock: new FakeClock(), log }).writer('bbbbbbbb'),
    'aaaaaaaa',
    'the first name stays',
  )
  t.equal(await disk.read(E1), undefined)
  await disk.write(E1, 'one')
  await disk.write(E1, 'two')
  t.equal(await disk.read(E1), 'two')
  const long = `${'a'.repeat(240)}.b` as NodeName
  await disk.write(long, 'long')
  t.equal(await disk.read(long), 'long')
  t.strictSame(log.lines, [])
  t.equal(readdirSync(folder).length, 3)
})

t.test('a disk that fails is logged once, and nothing throws', async t => {
  const folder = join(t.testdir({ file: '' }), 'file', 'state')
  const log = recordingLog()
  const disk = new RecordDisk(folder, { clock: new FakeClock(), log })
  t.equal(await disk.writer('aaaaaaaa'), 'aaaaaaaa')
  await disk.write(E1, 'one')
  t.ok(disk.isFailing)
  t.equal(log.lines.length, 1)
})

t.test('a file that is too large is not read as a record', async t => {
  const folder = t.testdir({ 'record-e1': 'x'.repeat((1 << 20) + 1) })
  const log = recordingLog()
  t.equal(await new RecordDisk(folder, { clock: new FakeClock(), log }).read(E1), undefined)
  t.match(log.lines, [{ level: 'error', fields: { error: /larger than/ } }])
})

t.test('changes are written to the cluster together, every two seconds at most', async t => {
  const stage = new Stage(t)
  await stage.start()
  stage.edge('e1')
  await stage.clock.advance(10_000)
  const records = (): number =>
    stage.cluster.writes.filter(one => one.includes('bridge-record-e1')).length
  const before = records()
  for (let i = 0; i < 40; i++) {
    stage.cluster.put(PODS, podBody(`p${i}`, 'e1'))
    await stage.clock.advance(250)
  }
  t.ok(records() - before <= 6, `${records() - before} writes in ten seconds`)
  await stage.clock.advance(5_000)
  const record = String((stage.cluster.get(MAPS, RECORD)?.['data'] as JsonMap)['record'])
  t.equal(record.split('\n').filter(line => line.startsWith('p ')).length, 40)
  const calm = records()
  await stage.clock.advance(600_000)
  t.equal(records(), calm, 'nothing is written while nothing changes')
})

t.test('after an unreachable apiserver returns, pods are sent', async t => {
  const stage = new Stage(t)
  await stage.start()
  stage.cluster.put(MAPS, mapBody('prices', '1'))
  const edge = stage.edge('e1')
  await stage.clock.advance(5_000)
  stage.cluster.isAway = true
  stage.cluster.put(PODS, podBody('web', 'e1', { map: 'prices' }))
  await stage.clock.advance(60_000)
  stage.cluster.isAway = false
  await stage.clock.advance(60_000)
  t.equal(edge.view.pods['till/pod/web']?.phase, 'Running')
  t.match(stage.bridge!.downstream.status, { record: { unsaved: 0, failing: 0 } })
})

t.test(
  "what cloudcore's edges hold by its account is believed where nothing else is known",
  async t => {
    const stage = new Stage(t)
    stage.cluster.put(NODES, nodeBody('e1'))
    const pod = stage.cluster.put(PODS, podBody('web', 'e1'))
    const sync = (name: string, uid: string, version: string) =>
      stage.cluster.put(SYNCS, {
        metadata: { name: `e1.${uid}`, namespace: 'till' },
        spec: { objectAPIVersion: 'v1', objectKind: 'pod', objectName: name },
        status: { objectResourceVersion: version },
      })
    sync('web', String(pod.metadata['uid']), String(pod.metadata['resourceVersion']))
    sync('gone', 'uid-gone', '7')
    const bridge = await stage.start({ adoptsObjectSyncs: true })
    stage.edge('e1')
    await stage.clock.advance(10_000)
    const messages = bridge.sent
      .filter(({ message: { parentId } }) => parentId === undefined)
      .map(({ message: { operation, resource } }) => `${operation} ${resource}`)
    t.strictSame(messages.sort(), ['delete till/pod/gone', 'update null/node/e1'])
    t.ok(stage.cluster.get(MAPS, RECORD), 'from now on there is a record of our own')
  },
)

t.test('ObjectSyncs are kept up to date for a return to cloudcore', async t => {
  const stage = new Stage(t)
  await stage.start({ writesObjectSyncs: true })
  stage.edge('e1')
  await stage.clock.advance(5_000)
  const { metadata } = stage.cluster.put(PODS, podBody('web', 'e1'))
  await stage.clock.advance(10_000)
  const of = { namespace: 'till', name: `e1.${String(metadata['uid'])}` }
  t.match(stage.cluster.get(SYNCS, of), {
    kind: 'ObjectSync',
    spec: { objectKind: 'pod', objectName: 'web' },
    status: { objectResourceVersion: /^\d+$/ },
  })
  stage.cluster.delete(PODS, { namespace: 'till', name: 'web' })
  await stage.clock.advance(10_000)
  t.equal(stage.cluster.get(SYNCS, of), undefined)
})

t.test('a truncated record stops no pod', async t => {
  const stage = new Stage(t)
  const disk = new MemoryDisk()
  const first = await stage.start({ disk })
  const edge = stage.edge('e1')
  await stage.clock.advance(5_000)
  stage.cluster.put(PODS, podBody('a', 'e1'))
  stage.cluster.put(PODS, podBody('b', 'e1'))
  await stage.clock.advance(5_000)
  await first.stop(false)
  disk.files.set('e1', disk.files.get('e1')!.slice(0, -20))
  await stage.start({ disk })
  await stage.clock.advance(60_000)
  t.strictSame(Object.keys(edge.view.pods), ['till/pod/a', 'till/pod/b'])
  t.match(stage.bridge!.log.lines, [{ message: 'a part of the record of an edge cannot be read' }])
})

t.test('an edge’s record is deleted a day after its Node, if the API confirms that', async t => {
  const stage = new Stage(t)
  const disk = new MemoryDisk()
  const hour = 3_600_000
  await stage.start({ disk, writesObjectSyncs: true })
  for (const node of ['e1', 'e2', 'e3']) stage.edge(node)
  await stage.clock.advance(10_000)
  const { metadata } = stage.cluster.put(PODS, podBody('web', 'e1'))
  await stage.clock.advance(10_000)
  const sync = { namespace: 'till', name: `e1.${String(metadata['uid'])}` }
  t.ok(stage.cluster.get(SYNCS, sync))
  const has = (node: string): boolean =>
    stage.cluster.get(MAPS, { ...RECORD, name: `bridge-record-${node}` }) !== undefined &&
    disk.files.has(node)
  for (const node of ['e1', 'e3']) stage.kill(node)
  stage.bridge!.cut('e1')
  stage.bridge!.cut('e3')
  for (const name of ['e1', 'e2', 'e3']) stage.cluster.delete(NODES, { name })
  stage.cluster.put(MAPS, { metadata: { name: 'bridge-record-other', namespace: 'edge-system' }, data: {} })
  await stage.clock.advance(23 * hour)
  t.strictSame(['e1', 'e2', 'e3'].map(has), [true, true, true])
  stage.cluster.put(NODES, { ...nodeBody('e3'), metadata: { name: 'e3' } })
  stage.cluster.isMisled = true
  await stage.clock.advance(2 * hour)
  t.ok(has('e1'), 'the 404 of a proxy is nobody’s word')
  stage.cluster.isMisled = false
  await stage.clock.advance(hour)
  t.strictSame(['e1', 'e2', 'e3'].map(has), [false, true, true], 'who is connected, and who is back, keeps his')
  t.equal(stage.cluster.get(SYNCS, sync), undefined)
  t.ok(stage.cluster.get(MAPS, { ...RECORD, name: 'bridge-record-other' }), 'what no bridge wrote is not ours')
  t.match(stage.bridge!.log.lines.filter(({ message }) => message.includes('record of an edge is removed')), [{ fields: { node: 'e1' } }])
}) // prettier-ignore

t.test('names of records', t => {
  const rows: [name: string, node: string | undefined][] = [
    [recordMapName('e1' as NodeName), 'e1'],
    [recordMapName('n'.repeat(250) as NodeName), undefined],
    ['bridge-record-', undefined],
    ['prices', undefined],
  ]
  for (const [name, node] of rows) t.equal(recordedNode(name), node, name)
  t.end()
})

t.test(
  'what another bridge recorded counts, even if the watch has not brought that yet',
  async t => {
    const stage = new Stage(t)
    const { cluster, clock } = stage
    const [mine, others] = [new MemoryDisk(), new MemoryDisk()]
    const x = { namespace: 'till', name: 'x' }
    const first = await stage.start({ disk: others })
    stage.edge('e1')
    for (const name of ['a', 'x']) cluster.put(PODS, podBody(name, 'e1'))
    await clock.advance(20_000)
    const byOther = cluster.get(MAPS, RECORD)!
    await first.stop()
    cluster.delete(PODS, x)
    const second = await stage.start({ disk: mine })
    await clock.advance(90_000)
    t.ok(mine.files.get('e1')!.includes('till'))
    await second.stop()
    await stage.start({ disk: mine })
    cluster.isHeldBack = true
    cluster.put(MAPS, byOther)
    await clock.advance(90_000)
    const removed = stage
      .sentTo('e1', 'till/pod/x')
      .filter(({ operation }) => operation === 'delete')
    t.equal(removed.length, 1)
  },
)

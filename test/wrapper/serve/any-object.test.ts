// SPDX-License-Identifier: Apache-2.0
// Whatever an object holds: it is served, or its watcher alone is told that it cannot be.
import t from 'tap'
import { heardAt } from '../heard-node.js'
import fc from '../../../testkit/properties.js'
import { realBodies } from '../real-bodies.js'
import { node, PROTOBUF, service, startReads } from '../wrapper-world.js'
import { RESOURCES, ROWS, type Resource } from '../../../wrapper/store/resources.js'
import { itemOf } from '../../../wrapper/upstream/item-codec.js'
import { openEnvelope } from '../../../wrapper/wire/envelope.js'
import { Sink } from '../../../wrapper/wire/sink.js'

const YEAR_ZERO = -62_167_219_200

t.test('FW1: a Node from the year 0 is served to everybody', async t => {
  const world = await startReads(t)
  world.fill({ nodes: [node('a')] })
  const live = await world.watch('/api/v1/nodes?watch=1')
  await live.until(1)
  world.store.upstream('nodes').upsert({ key: 'old', raw: heardAt('old', YEAR_ZERO), version: '2' })
  await live.until(2)
  t.strictSame(live.received, ['ADDED a', 'ADDED old'])
  const late = await world.watch('/api/v1/nodes?watch=1')
  await late.until(2)
  t.strictSame(late.received, ['ADDED a', 'ADDED old'])
})

/** What no JSON can be made of: `fieldsV1` that is none. */
const untellable = (name: string): Uint8Array =>
  new Sink()
    .message(1, meta =>
      meta
        .text(1, name)
        .text(6, '1')
        .message(17, entry => entry.message(7, fields => fields.text(1, '{'))),
    )
    .take()

t.test('FW1: only the watcher to which an object cannot be sent gets an error', async t => {
  const world = await startReads(t)
  world.fill({ nodes: [node('a')] })
  const [json, other] = [
    await world.watch('/api/v1/nodes?watch=1'),
    await world.watch('/api/v1/nodes?watch=1&fieldSelector=metadata.name%3Da'),
  ]
  for (const watch of [json, other]) await watch.until(1)
  world.store.upstream('nodes').upsert({ key: 'bad', raw: untellable('bad'), version: '2' })
  world.put('nodes', node('a', { new: '1' }))
  await json.until(2)
  await json.ended
  t.strictSame(json.received, ['ADDED a', 'ERROR 500'])
  t.match(json.events[1]!.object['message'], 'nodes bad cannot be encoded: fieldsV1 must be JSON')
  await other.until(2)
  t.strictSame(other.received, ['ADDED a', 'MODIFIED a'], 'another one misses nothing')
  t.equal(world.reads.watches.failed, 1)
  for (const path of ['/api/v1/nodes', '/api/v1/nodes/bad']) {
    const answer = await world.ask(path)
    t.equal(answer.status, 500, path)
    t.match(answer.json['message'], 'nodes bad cannot be encoded')
  }
  const bytes = await world.ask('/api/v1/nodes', PROTOBUF)
  t.equal(bytes.status, 200, 'bytes can always be told')
  const again = await world.watch('/api/v1/nodes?watch=1')
  await again.ended
  t.strictSame(again.received, ['ADDED a', 'ERROR 500'], 'from the state too')
  const said = world.log.lines.filter(({ message }) => message.startsWith('a watch is ended'))
  t.equal(said.length, 1, 'said once, however often the client comes back')
})

t.test('FW1: an object that the store cannot use does not affect others', t => {
  const noMap = new Sink().message(1, meta => meta.text(1, 'x').text(6, '1').number(11, 5)).take()
  const twice = new Sink().message(1, meta => meta.text(1, 'x').text(6, '1').text(6, '2')).take()
  const noSpec = new Sink()
    .message(1, meta => meta.text(1, 'x'))
    .number(2, 1)
    .take()
  const rows: [why: string, resource: Resource, raw: Uint8Array][] = [
    ['labels that are a number', 'nodes', noMap],
    ['two versions', 'nodes', twice],
    ['a spec that is a number', 'services', noSpec],
  ]
  for (const [why, resource, raw] of rows)
    t.throws(
      () => itemOf(ROWS[resource], { kind: 'bytes', raw }, () => undefined),
      { code: 'MALFORMED_WIRE' },
      why,
    )
  const oddStatus = new Sink().copy(heardAt('x', 1)).number(3, 1).take()
  t.doesNotThrow(
    () => itemOf(ROWS.nodes, { kind: 'bytes', raw: oddStatus }, () => undefined),
    'what the store does not read, as the status of a Node, is passed on as it is',
  )
  t.end()
})

const bodies = realBodies.bodies
  .map(({ protobuf }) => openEnvelope(protobuf))
  .filter(({ kind }) => RESOURCES.some(resource => ROWS[resource].kind === kind))

const spoiled = fc.record({
  of: fc.constantFrom(...bodies),
  flips: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
  inserted: fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 12 })),
})

t.test('FW1: with corrupt objects of all kinds, everybody who can be served is served', async t => {
  const world = await startReads(t)
  world.fill({ services: [service('web')] })
  const probe = await world.watch('/api/v1/services?watch=1&fieldSelector=metadata.name%3Dweb')
  await probe.until(1)
  await fc.assert(
    fc.asyncProperty(spoiled, async ({ of: { kind, raw }, flips, inserted: [place, more] }) => {
      const bytes = Buffer.from(raw)
      for (const [at, byte] of flips) bytes[at % bytes.length] = byte
      const at = place % (bytes.length + 1)
      const came = Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)])
      const resource = RESOURCES.find(each => ROWS[each].kind === kind)!
      let item
      try {
        item = itemOf(ROWS[resource], { kind: 'bytes', raw: came }, () => undefined)
      } catch {
        return
      }
      world.store.upstream(resource).upsert(item)
      const { path } = ROWS[resource]
      const watch = await world.watch(`${path}?watch=1`)
      // What no JSON can be made of is an ERROR; bytes can always be told.
      const { size } = world.store.table(resource)
      await Promise.race([watch.until(size).catch(() => undefined), watch.ended])
      const isComplete = watch.events.length === size || watch.received.at(-1) === 'ERROR 500'
      if (!isComplete) throw new Error(watch.received.join())
      watch.close()
      if ((await world.ask(path, PROTOBUF)).status !== 200) throw new Error('refused')
      world.store.upstream(resource).remove(item.key)
    }),
    { numRuns: 150 },
  )
  const before = probe.events.length
  world.put('services', service('web', { labels: { last: '1' } }, '9'))
  await probe.until(before + 1)
  t.equal(probe.received.at(-1), 'MODIFIED web', 'who asked for another one never noticed')
})

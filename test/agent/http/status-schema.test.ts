// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { violations, type Schema } from '../../../testkit/json-schema.js'
import { World } from '../../../testkit/zone/world.js'

const root = join(import.meta.dirname, '..', '..', '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const schema = JSON.parse(read('docs/status.schema.json')) as Schema
const partOf = (name: string): Schema => ({ ...schema, allOf: undefined, required: undefined, properties: undefined, $ref: `#/$defs/${name}` }) // prettier-ignore
const explain = partOf('explain')

/** Everything that the agents of the zone say, as it goes over the wire. */
const check = (t: Test, what: string, world: World): void => {
  for (const { agent, name } of world.machines) {
    if (agent === undefined) continue
    const { views } = agent
    const wire = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
    t.strictSame(violations(schema, wire(views.status())), [], `${what}: /status of ${name}`)
    const matrix = violations(partOf('matrix'), wire(views.matrix()))
    t.strictSame(matrix, [], `${what}: /matrix of ${name}`)
    const history = violations(partOf('history'), wire(views.history()))
    t.strictSame(history, [], `${what}: /history of ${name}`)
    for (const other of world.machines) {
      const node = views.node(other.name)
      if (node === undefined) continue
      const body = wire({ ...views.zone(), node })
      t.strictSame(violations(explain, body), [], `${what}: /status?node=${other.name} of ${name}`)
    }
  }
}

t.test('what agents say is what the schema says, from the first moment on', async t => {
  const world = new World(5)
  t.teardown(() => world.stop())
  world.bootAll()
  check(t, 'at the start', world)
  await world.run(60_000)
  check(t, 'all is well', world)
  world.cutCloud(1)
  world.crash(4)
  for (const seconds of [3, 3, 1, 3, 5]) {
    await world.run(seconds * 1_000)
    check(t, 'a node dies, a link is cut', world)
  }
  await world.run(40_000)
  check(t, 'dead and vouched for', world)
  const said = world.machine(0).agent?.views
  t.match(said?.node('n4'), { class: 'dead', lastWrite: {}, voters: [{}, {}, {}, {}] })
  t.match(said?.node('n1'), { class: 'cloud-link-cut', vouch: { state: 'active' } })
  world.crash(3)
  world.crash(2)
  await world.run(20_000)
  check(t, 'the brake', world)
  world.repair(2)
  world.repair(3)
  world.healCloud(1)
  await world.run(6_000)
  check(t, 'they return', world)
})

t.test('a zone of two, and an agent without keys', async t => {
  const world = new World(2, { flags: ['--witness=none'] })
  t.teardown(() => world.stop())
  await world.settled()
  world.cluster.put('secret', 'edge-health-keys', { data: {} })
  world.crash(1)
  await world.run(20_000)
  check(t, 'one is gone', world)
})

t.test('a zone whose nodes sign', async t => {
  const world = new World(3, { flags: ['--identity=prefer'] })
  t.teardown(() => world.stop())
  check(t, 'before the start', world)
  world.bootAll()
  check(t, 'before identities are published', world)
  await world.run(60_000)
  check(t, 'all sign', world)
  const { views } = world.machine(0).agent!
  t.match(views.status(), {
    identity: { mode: 'prefer', generation: 1, members: 3 },
    nodes: [{ peer: null }, { peer: { isSigned: true } }, { peer: { isSigned: true } }],
  })
  const { proved, equivocations } = views.counts().exchange
  t.ok(proved > 0, 'signatures are counted')
  t.equal(equivocations, 0)
})

/** Words of the types that the views are made of: what is between quotes, and the names of fields. */
const typeWords = (text: string): { values: Set<string>; fields: Set<string> } => {
  const code = text
    .replace(/^import .*$/gm, '')
    .replace(/\/\*\*[\s\S]*?\*\//g, '')
    .replace(/\/\/.*$/gm, '')
  return {
    values: new Set([...code.matchAll(/'([a-z][\w.-]*)'/g)].map(([, value = '']) => value)),
    fields: new Set([...code.matchAll(/readonly (\w+):/g)].map(([, field = '']) => field)),
  }
}

t.test('the schema names every field and every value of the types, and no other', t => {
  const peerListener = read('agent/http/peer-listener.ts')
  const [listenerStatus = ''] = /interface PeerListenerStatus \{[^}]*\}/.exec(peerListener) ?? []
  const [maintenance = ''] =
    /interface Maintenance \{[^}]*\}/.exec(read('core/maintenance.ts')) ?? []
  const types = typeWords(
    [
      ...[
        'agent/http/status-view.ts',
        'agent/http/history-view.ts',
        'agent/http/matrix-view.ts',
        'core/stage.ts',
      ].map(read),
      listenerStatus,
      maintenance,
    ].join('\n'),
  )
  const values = new Set<string>()
  const fields = new Set<string>()
  const walk = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    const { enum: words, properties } = part as Schema
    for (const word of words ?? []) if (word !== null) values.add(word)
    for (const field of Object.keys(properties ?? {})) fields.add(field)
    Object.values(part).forEach(walk)
  }
  walk(schema)
  t.strictSame([...values].sort(), [...types.values].sort())
  t.strictSame([...fields].sort(), [...types.fields].sort())
  t.end()
})

t.test('the checker finds what is wrong', t => {
  const rule: Schema = {
    type: 'object',
    required: ['a', 'b'],
    properties: {
      a: { type: ['integer', 'null'], minimum: 0 },
      b: { type: 'array', items: { anyOf: [{ enum: ['x'] }, { type: 'null' }] } },
      c: { type: 'string', format: 'date-time' },
    },
  }
  const rows: [body: unknown, want: string[]][] = [
    [{ a: 1, b: ['x', null], c: '2026-01-01T00:00:00.000Z' }, []],
    [{ a: null, b: [] }, []],
    [{ a: -1, b: [] }, ['/a: -1 is below 0']],
    [{ a: 1.5, b: [] }, ['/a: 1.5 is no integer, null']],
    [{ b: {} }, ['/a: is missing', '/b: {} is no array']],
    [{ a: 1, b: ['y'] }, ['/b/0: "y" fits nothing that it may be']],
    [{ a: 1, b: [], c: 'now' }, ['/c: "now" is no date-time']],
    [{ a: 1, b: [], d: 1 }, ['/d: is in no schema']],
  ]
  for (const [body, want] of rows) t.strictSame(violations(rule, body), want, JSON.stringify(body))
  t.throws(() => violations({ pattern: 'x' } as Schema, 1), /does not know: pattern/)
  t.end()
})

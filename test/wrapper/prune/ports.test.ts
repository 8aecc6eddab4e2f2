// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { decide } from '../../../wrapper/prune/decide.js'
import { outsideTopology } from '../../../wrapper/prune/topology.js'
import { readEndpoints } from '../../../wrapper/wire/endpoints.js'
import { fromJson } from '../../../wrapper/wire/from-json.js'
import { readSlice } from '../../../wrapper/wire/slice.js'
import fc from '../../../testkit/properties.js'
import { makeSlice, makeSurroundings, type World } from '../wrapper-objects.js'

type Part = readonly [places: readonly string[], ports: readonly string[]]

const endpointsOf = (parts: readonly Part[]) =>
  parts.flatMap(
    ([places, ports], i) => readSlice(makeSlice(`web-${i}`, 'web', places, ports)).endpoints,
  )

const reasonsOf = (parts: readonly Part[], world: World, keys: readonly string[] = []) =>
  decide({ name: 'default/web', rule: { keys } }, endpointsOf(parts), makeSurroundings(world)).map(
    ({ reason }) => reason,
  )

t.test('FW13: the last endpoint of each port stays', t => {
  const health = { near: 'dead', far: 'normal' } as const
  const rows: [why: string, parts: readonly Part[], want: readonly string[]][] = [
    [
      'http is alive nowhere else, metrics is',
      [
        [['1@near'], ['http']],
        [['2@far'], ['metrics']],
      ],
      ['kept-last-of-port', 'kept'],
    ],
    [
      'an endpoint of two ports stays for one of them',
      [
        [['1@near'], ['http', 'metrics']],
        [['2@far'], ['metrics']],
      ],
      ['kept-last-of-port', 'kept'],
    ],
    [
      'both ports are alive elsewhere',
      [
        [['1@near'], ['http', 'metrics']],
        [['2@far'], ['metrics']],
        [['3@far'], ['http']],
      ],
      ['node-dead', 'kept', 'kept'],
    ],
    [
      'one that is not ready serves no port',
      [
        [['1@near'], ['http']],
        [['2@far!'], ['http']],
      ],
      ['kept-last-of-port', 'kept'],
    ],
    [
      'no ports at all are a port too',
      [
        [['1@near'], []],
        [['2@far'], ['http']],
      ],
      ['kept-last-of-port', 'kept'],
    ],
  ]
  for (const [why, parts, want] of rows) t.strictSame(reasonsOf(parts, { health }), want, why)
  t.end()
})

t.test('FW13: addresses of Endpoints have the ports of their subset', t => {
  const raw = fromJson('Endpoints', {
    metadata: { name: 'web', namespace: 'default' },
    subsets: [
      {
        addresses: [{ ip: '1.0.0.1', nodeName: 'near' }],
        ports: [{ name: 'http', port: 80 }],
      },
      {
        addresses: [{ ip: '1.0.0.2', nodeName: 'far' }],
        ports: [{ name: 'dns', port: 53, protocol: 'UDP' }, { port: 1 }],
      },
      { addresses: [{ ip: '1.0.0.3', nodeName: 'far' }] },
    ],
  })
  const { endpoints } = readEndpoints(raw)
  t.strictSame(
    endpoints.map(({ ports }) => ports),
    [['http TCP'], ['dns UDP', ' TCP'], ['']],
  )
  const around = makeSurroundings({ health: { near: 'dead', far: 'normal' } })
  t.strictSame(
    decide({ name: 'default/web', rule: undefined }, endpoints, around).map(({ reason }) => reason),
    ['kept-last-of-port', 'kept', 'kept'],
  )
  t.end()
})

t.test('FW13: in the ordered mode each port has its own first key', t => {
  const parts: Part[] = [
    [['1@near'], ['metrics']],
    [['2@far'], ['http']],
    [['3@far'], ['metrics']],
  ]
  const nodes = {
    here: { rack: '1', zone: 'a' },
    near: { rack: '1', zone: 'a' },
    far: { rack: '2', zone: 'a' },
  }
  t.strictSame(reasonsOf(parts, { nodes, keysMode: 'ordered' }, ['rack', 'zone']), [
    'kept-unknown-node',
    'kept-unknown-node',
    'no-topology-match',
  ])
  t.end()
})

const NODES = ['here', 'n1', 'n2'] as const
const place = fc
  .tuple(fc.nat(255), fc.constantFrom(...NODES), fc.boolean())
  .map(([byte, node, isReady]) => `10.0.0.${byte}@${node}${isReady ? '' : '!'}`)
const part = fc.tuple(
  fc.array(place, { maxLength: 4 }),
  fc.uniqueArray(fc.constantFrom('http', 'metrics', 'dns'), { maxLength: 3 }),
)
const world: fc.Arbitrary<World> = fc.record({
  nodes: fc.dictionary(
    fc.constantFrom(...NODES),
    fc.dictionary(fc.constantFrom('zone', 'rack'), fc.constantFrom('a', 'b'), { maxKeys: 2 }),
  ),
  health: fc.dictionary(fc.constantFrom(...NODES), fc.constantFrom('normal', 'dead')),
  keysMode: fc.constantFrom('any', 'ordered'),
})

t.test('FW13: a port that topology leaves an endpoint of health does too', t => {
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 4 }),
      world,
      fc.uniqueArray(fc.constantFrom('zone', 'rack'), { maxLength: 2 }),
      (parts, given, keys) => {
        const endpoints = endpointsOf(parts)
        const around = makeSurroundings(given)
        const outside = outsideTopology(keys, endpoints, around)
        const decisions = decide({ name: 'default/web', rule: { keys } }, endpoints, around)
        return endpoints
          .flatMap(({ ports }) => ports)
          .every(port => {
            const of = endpoints.flatMap((each, at) => (each.ports.includes(port) ? [at] : []))
            const isUsable = (at: number): boolean => endpoints[at]!.isUsable
            const within = of.filter(at => outside[at] === undefined)
            const kept = of.filter(at => decisions[at]!.keep)
            return (
              kept.length > 0 === within.length > 0 && kept.some(isUsable) === within.some(isUsable)
            )
          })
      },
    ),
    { numRuns: 500 },
  )
  t.end()
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { decide } from '../../../wrapper/prune/decide.js'
import { parseTopologyKeys, type ServiceRule } from '../../../wrapper/prune/topology-keys.js'
import { readEndpoints } from '../../../wrapper/wire/endpoints.js'
import { readSlice } from '../../../wrapper/wire/slice.js'
import {
  makeEndpoints,
  makeSlice,
  makeSurroundings,
  type Place,
  type World,
} from '../wrapper-objects.js'

/** What decide says of each place, `kept` for short where it needs no other word. */
const reasonsOf = (
  places: readonly Place[],
  rule: ServiceRule | undefined,
  world: World,
): readonly string[] => {
  const { endpoints } = readSlice(makeSlice('web-1', 'web', places))
  const decisions = decide({ name: 'default/web', rule }, endpoints, makeSurroundings(world))
  return decisions.map(({ reason }) => reason)
}

const NONE: ServiceRule = { keys: [] }
const ZONE: ServiceRule = { keys: ['zone'] }
/** Three nodes, two of them in the zone of `here`. */
const NODES = { here: { zone: 'a' }, near: { zone: 'a' }, far: { zone: 'b' } }
const ALL = ['1@here', '2@near', '3@far'] as const

type Row = [
  why: string,
  places: readonly Place[],
  rule: ServiceRule | undefined,
  world: World,
  want: readonly string[],
]

const topology: Row[] = [
  [
    'no keys: everything stays',
    ALL,
    NONE,
    { nodes: NODES, health: { near: 'normal', far: 'normal' } },
    ['kept-own-node', 'kept', 'kept'],
  ],
  [
    'an equal value of the key is near',
    ALL,
    ZONE,
    { nodes: NODES },
    ['kept-own-node', 'kept-unknown-node', 'no-topology-match'],
  ],
  [
    'one key of several is enough',
    ALL,
    { keys: ['rack', 'zone'] },
    { nodes: { ...NODES, far: { zone: 'b', rack: '1' }, here: { zone: 'a', rack: '1' } } },
    ['kept-own-node', 'kept-unknown-node', 'kept-unknown-node'],
  ],
  [
    '* is near everywhere',
    ALL,
    { keys: ['rack', '*'] },
    { nodes: NODES },
    ['kept-own-node', 'kept-unknown-node', 'kept-unknown-node'],
  ],
  [
    'an empty value equals an empty value',
    ALL,
    ZONE,
    { nodes: { here: { zone: '' }, near: { zone: '' }, far: {} } },
    ['kept-own-node', 'kept-unknown-node', 'no-topology-match'],
  ],
  [
    'an endpoint without a node stays',
    ['1', '3@far'],
    ZONE,
    { nodes: NODES },
    ['kept-no-node', 'no-topology-match'],
  ],
  [
    'a node that is not listed is not near',
    ['1@here', '2@gone'],
    ZONE,
    { nodes: NODES },
    ['kept-own-node', 'no-topology-match'],
  ],
  ['* needs no list', ['2@gone'], { keys: ['*'] }, { nodes: NODES }, ['kept-unknown-node']],
  [
    'this node is not listed: it serves itself, and not the whole cluster',
    ALL,
    ZONE,
    { nodes: { near: NODES.near, far: NODES.far } },
    ['kept-own-node', 'own-node-not-listed', 'own-node-not-listed'],
  ],
  [
    'this node lacks the label: it serves itself',
    ALL,
    ZONE,
    { nodes: { ...NODES, here: {} } },
    ['kept-own-node', 'no-topology-match', 'no-topology-match'],
  ],
  [
    'ordered: the first key that finds an endpoint decides',
    ALL,
    { keys: ['rack', 'zone', '*'] },
    { nodes: NODES, keysMode: 'ordered' },
    ['kept-own-node', 'kept-unknown-node', 'no-topology-match'],
  ],
  [
    'ordered: a key whose endpoints are dead finds none',
    ['2@near', '3@far'],
    { keys: ['zone', '*'] },
    { nodes: NODES, keysMode: 'ordered', health: { near: 'dead' } },
    ['node-dead', 'kept-unknown-node'],
  ],
  [
    'ordered: nor do endpoints that are not ready',
    ['2@near!', '3@far'],
    { keys: ['zone', '*'] },
    { nodes: NODES, keysMode: 'ordered' },
    ['kept-unknown-node', 'kept-unknown-node'],
  ],
  [
    'ordered: old news of death does not count',
    ['2@near', '3@far'],
    { keys: ['zone', '*'] },
    { nodes: NODES, keysMode: 'ordered', health: { near: 'dead' }, healthIsFresh: false },
    ['kept-stale-health', 'no-topology-match'],
  ],
  [
    'ordered: where all are dead, the first key that finds any',
    ['2@near', '3@far'],
    { keys: ['zone', '*'] },
    { nodes: NODES, keysMode: 'ordered', health: { near: 'dead', far: 'dead' } },
    ['kept-last-of-port', 'no-topology-match'],
  ],
  [
    'ordered: no key finds any',
    ['2@far', '3'],
    { keys: ['zone'] },
    { nodes: NODES, keysMode: 'ordered' },
    ['no-topology-match', 'kept-no-node'],
  ],
]

const health: Row[] = [
  [
    'an endpoint on a dead node goes',
    ALL,
    NONE,
    { health: { near: 'normal', far: 'dead' } },
    ['kept-own-node', 'kept', 'node-dead'],
  ],
  [
    'a node that nobody knows of stays',
    ALL,
    NONE,
    { health: { far: 'unknown' } },
    ['kept-own-node', 'kept-unknown-node', 'kept-unknown-node'],
  ],
  [
    'a node never takes away its own',
    ['1@here', '2@near'],
    NONE,
    { health: { here: 'dead', near: 'normal' } },
    ['kept-own-node', 'kept'],
  ],
  [
    'news that is too old takes nothing',
    ALL,
    NONE,
    { health: { near: 'normal', far: 'dead' }, healthIsFresh: false },
    ['kept-own-node', 'kept', 'kept-stale-health'],
  ],
  [
    'a dead node outside the topology is outside first',
    ALL,
    ZONE,
    { nodes: NODES, health: { near: 'dead', far: 'dead' } },
    ['kept-own-node', 'node-dead', 'no-topology-match'],
  ],
  [
    'without a node there is no health',
    ['1', '2@near'],
    NONE,
    { health: { near: 'dead' } },
    ['kept-no-node', 'node-dead'],
  ],
]

const neverEmpty: Row[] = [
  [
    'all are dead: all stay',
    ['2@near', '3@far'],
    NONE,
    { health: { near: 'dead', far: 'dead' } },
    ['kept-last-of-port', 'kept-last-of-port'],
  ],
  [
    'the living one is outside the topology: the dead one stays',
    ['2@near', '3@far'],
    ZONE,
    { nodes: NODES, health: { near: 'dead', far: 'normal' } },
    ['kept-last-of-port', 'no-topology-match'],
  ],
  [
    'the living one is not ready: the dead one stays',
    ['2@near', '3@far!'],
    NONE,
    { health: { near: 'dead', far: 'normal' } },
    ['kept-last-of-port', 'kept'],
  ],
  [
    'the dead one is not ready: it goes',
    ['2@near!', '3@far'],
    NONE,
    { health: { near: 'dead', far: 'normal' } },
    ['node-dead', 'kept'],
  ],
  ['nothing was there', [], NONE, {}, []],
]

for (const [name, rows] of Object.entries({ topology, health, neverEmpty })) {
  t.test(name, t => {
    for (const [why, places, rule, world, want] of rows)
      t.strictSame(reasonsOf(places, rule, world), want, why)
    t.end()
  })
}

t.test('addresses of an Endpoints object are judged alike', t => {
  const { endpoints } = readEndpoints(makeEndpoints('web', ['1@here', '2@near', '3@far!']))
  const around = makeSurroundings({ nodes: NODES, health: { near: 'dead', far: 'normal' } })
  t.strictSame(
    decide({ name: 'default/web', rule: NONE }, endpoints, around).map(({ reason }) => reason),
    ['kept-own-node', 'node-dead', 'kept'],
  )
  t.end()
})

t.test('endpoints of an unknown service are still judged by health', t => {
  t.strictSame(
    reasonsOf(ALL, undefined, { nodes: NODES, health: { near: 'normal', far: 'dead' } }),
    ['kept-own-node', 'kept', 'node-dead'],
  )
  t.end()
})

t.test('malformed topologyKeys never open a service to the whole cluster', t => {
  const good = parseTopologyKeys('["zone"]', undefined)
  const broken = parseTopologyKeys('["zone', good)
  t.match(broken.trouble, /JSON list/)
  t.strictSame(
    reasonsOf(ALL, broken, { nodes: NODES }),
    ['kept-own-node', 'kept-unknown-node', 'no-topology-match'],
    'the last good keys hold',
  )
  const nodes = Object.fromEntries(
    Object.entries(NODES).map(([name, labels]) => [
      name,
      { ...labels, 'kubernetes.io/hostname': name },
    ]),
  )
  t.strictSame(
    reasonsOf(ALL, parseTopologyKeys('zone', undefined), { nodes }),
    ['kept-own-node', 'no-topology-match', 'no-topology-match'],
    'there never were good ones: the node serves itself',
  )
  t.end()
})

t.test('health never takes the last endpoint of a service', t => {
  const world: World = { nodes: NODES, health: { near: 'dead', far: 'dead' } }
  t.strictSame(reasonsOf(['2@near', '3@far'], ZONE, world), [
    'kept-last-of-port',
    'no-topology-match',
  ])
  t.end()
})

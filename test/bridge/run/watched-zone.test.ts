// SPDX-License-Identifier: Apache-2.0
// A cluster, a bridge, an edge's MetaServer and the list/watches of its agents, in any order of events: in the end the
// agents see what there is.
import t from 'tap'
import { seededRandom } from '../../../testkit/seeded-random.js'
import { LEASES, MAPS, MetaModel, NODES, type Which } from './meta-model.js'

const SEEDS = 150
const NAMES = ['e2', 'e3', 'e4', 'e5'] as const
const ZONES = ['a', 'b', 'c'] as const
const WAITS_MS = [0, 0, 1, 7, 20, 25, 50, 100, 500, 3_000, 12_000] as const
const nodes = (labelSelector: string, name = ''): Which => ({
  ...{ resource: 'nodes', name, labelSelector },
})
const WATCHED: readonly Which[] = [
  nodes('zone=a'),
  nodes('zone=b'),
  nodes(''),
  nodes('', 'e3'),
  { resource: 'configmaps', name: 'm', labelSelector: '' },
]
const MAP = { name: 'm', namespace: 'edge-system' }

/** @returns what agents do not see as it is */
const play = async (seed: number): Promise<readonly string[]> => {
  const random = seededRandom(seed)
  const one = <T>(items: readonly T[]): T => items[random.below(items.length)]!
  const model = new MetaModel(random)
  const { clock, cluster } = model
  let count = 0
  /** Of MetaServer's own making: it shows a watch no version that follows its newest one too closely. */
  const others = (): void => {
    for (let i = 5; i > 0; i--) cluster.put(LEASES, { metadata: { name: 'x' } })
  }
  const put = (name: string, zone: string): void => {
    others()
    const taints = [{ key: String(count++) }]
    cluster.put(NODES, { metadata: { name, labels: { zone } }, spec: { taints } })
  }
  const remove = (name: string): void => {
    others()
    cluster.delete(NODES, { name })
  }
  const putMap = (): void => {
    others()
    cluster.put(MAPS, { metadata: MAP, data: { count: String(count++) } })
  }
  const acts: readonly (() => void)[] = [
    ...Array.from({ length: 4 }, () => () => put(one(NAMES), one(ZONES))),
    () => remove(one(NAMES)),
    () => {
      const name = one(NAMES)
      remove(name)
      put(name, one(ZONES))
    },
    () => {
      const name = one(NAMES)
      for (const zone of ['b', 'a', one(ZONES)]) put(name, zone)
    },
    putMap,
    () => {
      others()
      cluster.delete(MAPS, MAP)
    },
    () => (model.isConnected ? model.disconnect() : model.connect()),
    () => (model.isHeld = !model.isHeld),
    () => (model.acks = one(['ok', 'late', 'never'])),
    () => (model.slowMs = one([0, 50, 2_000])),
    () => (cluster.isHeldBack = true),
    () => cluster.deliver(1),
    () => void model.readLease(),
  ]
  NAMES.filter(() => random.below(3) > 0).forEach(name => put(name, one(ZONES)))
  putMap()
  model.watchAs('e9', nodes('zone=z'))
  if (random.below(4) > 0) model.connect()
  for (const which of WATCHED) if (random.below(2) === 0) model.startAgent(which)
  await clock.advance(5_000)
  for (let i = 8 + random.below(20); i > 0; i--) {
    one(acts)()
    await clock.advance(one(WAITS_MS))
  }
  model.heal()
  // Those that began while the edge was away list again after two minutes.
  await clock.advance(300_000)
  const differences = model.differences()
  const stopped = model.stop()
  await clock.advance(20_000)
  await stopped
  return differences
}

t.test('agents come to see the present state of what they watch', async t => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const differences = await play(seed)
    if (differences.length > 0) t.fail(`seed ${seed}`, { differences })
  }
  t.pass(`${SEEDS} runs`)
})

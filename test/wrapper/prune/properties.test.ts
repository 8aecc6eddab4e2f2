// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { decide, type NodeHealth } from '../../../wrapper/prune/decide.js'
import type { Decision } from '../../../wrapper/prune/decision.js'
import { outsideTopology } from '../../../wrapper/prune/topology.js'
import { pruneEndpoints, readEndpoints } from '../../../wrapper/wire/endpoints.js'
import { fromJson } from '../../../wrapper/wire/from-json.js'
import { pruneSlice, readSlice } from '../../../wrapper/wire/slice.js'
import { toJson } from '../../../wrapper/wire/to-json.js'
import fc from '../../../testkit/properties.js'
import { makeSlice, makeSurroundings, type World } from '../wrapper-objects.js'

const NODES = ['here', 'n1', 'n2', 'n3', 'n4'] as const
const KEYS = ['zone', 'rack', '*'] as const

const place = fc
  .tuple(fc.nat(255), fc.option(fc.constantFrom(...NODES)), fc.boolean())
  .map(
    ([byte, node, isReady]) =>
      `10.0.0.${byte}${node === null ? '' : `@${node}`}${isReady ? '' : '!'}`,
  )
const labels = fc.dictionary(fc.constantFrom('zone', 'rack'), fc.constantFrom('', 'a', 'b'), {
  maxKeys: 2,
})
const world: fc.Arbitrary<World> = fc.record({
  nodes: fc.dictionary(fc.constantFrom(...NODES), labels),
  health: fc.dictionary(
    fc.constantFrom(...NODES),
    fc.constantFrom<NodeHealth>('normal', 'dead', 'dead', 'unknown'),
  ),
  healthIsFresh: fc.boolean(),
  keysMode: fc.constantFrom('any', 'ordered'),
})
const keys = fc.uniqueArray(fc.constantFrom(...KEYS), { maxLength: 3 })

const scene = fc.record({ places: fc.array(place, { maxLength: 12 }), world, keys })
type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never

const judge = ({ places, world, keys }: Scene) => {
  const raw = makeSlice('web-1', 'web', places)
  const { endpoints } = readSlice(raw)
  const around = makeSurroundings(world)
  const decisions = decide({ name: 'default/web', rule: { keys } }, endpoints, around)
  return {
    raw,
    endpoints,
    around,
    decisions,
    left: pruneSlice(raw, (_, at) => decisions[at]!.keep),
  }
}
const holds = (name: string, claim: (scene: Scene) => boolean): void => {
  t.test(name, t => {
    fc.assert(fc.property(scene, claim), { numRuns: 1000 })
    t.end()
  })
}
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

holds('what is left is what was kept, in order, and nothing else changed', scene => {
  const { raw, decisions, left } = judge(scene)
  const before = toJson('EndpointSlice', raw)
  const endpoints = (before['endpoints'] ?? []) as readonly unknown[]
  const kept = endpoints.filter((_, at) => decisions[at]!.keep)
  return (
    decisions.length === endpoints.length &&
    same(toJson('EndpointSlice', left), { ...before, endpoints: kept.length === 0 ? null : kept })
  )
})

holds('nothing cut is the very same buffer', scene => {
  const { raw, decisions, left } = judge(scene)
  return (left === raw) === decisions.every(({ keep }) => keep)
})

holds('pruning again changes nothing', scene => {
  const { left, around } = judge(scene)
  const again = decide(
    { name: 'default/web', rule: { keys: scene.keys } },
    readSlice(left).endpoints,
    around,
  )
  return again.every(({ keep }) => keep)
})

holds('health never empties, nor takes the last that a proxy would use', scene => {
  const { endpoints, around, decisions } = judge(scene)
  const outside = outsideTopology(scene.keys, endpoints, around)
  const within = endpoints.filter((_, at) => outside[at] === undefined)
  const kept = endpoints.filter((_, at) => decisions[at]!.keep)
  return (
    kept.length > 0 === within.length > 0 &&
    kept.some(({ isUsable }) => isUsable) === within.some(({ isUsable }) => isUsable)
  )
})

holds('its own endpoints, and those without a node, always stay', scene => {
  const { endpoints, decisions } = judge(scene)
  return endpoints.every(
    ({ node }, at) => (node !== undefined && node !== 'here') || decisions[at]!.keep,
  )
})

holds('only a dead node, freshly known, takes an endpoint by health', scene => {
  const { endpoints, around, decisions } = judge(scene)
  return endpoints.every(
    ({ node }, at) =>
      decisions[at]!.reason !== 'node-dead' ||
      (around.healthIsFresh && around.health(node!) === 'dead'),
  )
})

holds('without keys, or with *, topology takes nothing', scene => {
  const keys = [...scene.keys.filter(key => key !== '*'), '*' as const]
  const world: World = { ...scene.world, keysMode: 'any' }
  const isOutside = ({ reason }: Decision): boolean =>
    !reason.startsWith('kept') && reason !== 'node-dead'
  return (
    !judge({ ...scene, world, keys: [] }).decisions.some(isOutside) &&
    !judge({ ...scene, world, keys }).decisions.some(isOutside)
  )
})

holds('another key only adds to what is near', scene => {
  const world: World = { ...scene.world, keysMode: 'any' }
  const { endpoints, around } = judge({ ...scene, world })
  const few = outsideTopology(scene.keys.slice(0, 1), endpoints, around)
  const more = outsideTopology(scene.keys, endpoints, around)
  return (
    scene.keys.length === 0 ||
    more.every((reason, at) => reason === undefined || few[at] !== undefined)
  )
})

t.test('addresses of many subsets are pruned consistently', t => {
  const address = fc.record({ ip: fc.ipV4(), nodeName: fc.constantFrom(...NODES) })
  const subset = fc.record(
    { addresses: fc.array(address), notReadyAddresses: fc.array(address) },
    { requiredKeys: [] },
  )
  const claim = (subsets: readonly object[], gone: ReadonlySet<string>): boolean => {
    const ports = [{ port: 80, protocol: 'TCP' }]
    const whole = subsets.map(subset => ({ ...subset, ports }))
    const raw = fromJson('Endpoints', { metadata: { name: 'web' }, subsets: whole })
    const want = whole.map(subset =>
      Object.fromEntries(
        Object.entries(subset)
          .map(
            ([name, all]) =>
              [
                name,
                (all as { nodeName?: string }[]).filter(
                  ({ nodeName }) => !gone.has(nodeName ?? ''),
                ),
              ] as const,
          )
          .filter(([, all]) => all.length > 0),
      ),
    )
    const left = pruneEndpoints(raw, ({ node }) => !gone.has(node!))
    const count = readEndpoints(raw).endpoints.length - readEndpoints(left).endpoints.length
    return (
      same(toJson('Endpoints', left)['subsets'] ?? [], want) && (left === raw) === (count === 0)
    )
  }
  fc.assert(
    fc.property(
      fc.array(subset, { maxLength: 4 }),
      fc.uniqueArray(fc.constantFrom(...NODES)),
      (subsets, gone) => claim(subsets, new Set(gone)),
    ),
    { numRuns: 1000 },
  )
  t.end()
})

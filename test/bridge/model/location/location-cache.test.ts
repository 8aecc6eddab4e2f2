// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { LocationCache } from '../../../../bridge/model/location/location-cache.js'
import { referencesOf } from '../../../../bridge/model/location/references.js'
import type { JsonMap } from '../../../../core/json.js'
import fc from '../../../../testkit/properties.js'
import { configVolume, OTHER, pod, SHOP } from '../objects.js'

const withConfig = (
  name: string,
  config: string,
  optional?: boolean,
  uid = `uid-${name}`,
): JsonMap => pod(name, { volumes: [configVolume(config, optional)] }, { uid })
const need = (node: string, name: string) => ({ node, type: 'configmap', namespace: 'till', name })

t.test('pods say who needs what', t => {
  const cache = new LocationCache()
  t.strictSame(cache.setPod(withConfig('web', 'prices'), SHOP), {
    begun: [need(SHOP, 'prices')],
    ended: [],
  })
  t.strictSame(
    cache.setPod(withConfig('web', 'prices'), SHOP),
    { begun: [], ended: [] },
    'no change',
  )
  t.strictSame(
    cache.setPod(withConfig('db', 'prices', true), SHOP),
    { begun: [], ended: [] },
    'a second pod of the node needs what is there',
  )
  cache.setPod(withConfig('web-2', 'prices', true), OTHER)
  t.strictSame(cache.usersOf('configmap', 'till', 'prices'), [SHOP, OTHER])
  t.strictSame(cache.usersOf('configmap', 'other', 'prices'), [])
  t.equal(
    cache.needOf(SHOP, 'configmap', 'till', 'prices'),
    'mandatory',
    'one of the two pods must have it',
  )
  t.equal(cache.needOf(OTHER, 'configmap', 'till', 'prices'), 'optional')
  t.equal(cache.needOf(OTHER, 'secret', 'till', 'prices'), undefined)
  t.strictSame(cache.needsOf(SHOP), [need(SHOP, 'prices')], 'once')
  t.strictSame(cache.removePod('uid-web'), [], 'the other pod still needs it')
  t.equal(cache.needOf(SHOP, 'configmap', 'till', 'prices'), 'optional')
  t.strictSame(cache.removePod('uid-db'), [need(SHOP, 'prices')], 'unlearnt with the last pod')
  t.strictSame(cache.removePod('uid-db'), [], 'once')
  t.strictSame(cache.needsOf(SHOP), [])
  t.end()
})

t.test('pods that change, end and are created again', t => {
  const cache = new LocationCache()
  cache.setPod(withConfig('web', 'old'), SHOP)
  t.strictSame(
    cache.setPod(withConfig('web', 'new'), SHOP),
    { begun: [need(SHOP, 'new')], ended: [need(SHOP, 'old')] },
    'a container may be added that needs another',
  )
  t.strictSame(
    cache.setPod({ ...withConfig('web', 'new'), status: { phase: 'Succeeded' } }, SHOP),
    { begun: [], ended: [need(SHOP, 'new')] },
    'a pod that has ended needs nothing',
  )
  cache.setPod(withConfig('job', 'new'), SHOP)
  t.strictSame(
    cache.setPod({ ...withConfig('job', 'new'), status: { phase: 'Failed' } }, SHOP).ended,
    [need(SHOP, 'new')],
  )
  cache.setPod(withConfig('set-0', 'a', false, 'first'), SHOP)
  cache.setPod(withConfig('set-0', 'a', false, 'second'), SHOP)
  t.equal(cache.podNamed('till', 'set-0')?.uid, 'second', 'the newest of the name')
  cache.removePod('first')
  t.equal(cache.podNamed('till', 'set-0')?.uid, 'second', 'the end of the older says nothing of it')
  cache.removePod('second')
  t.equal(cache.podNamed('till', 'set-0'), undefined)
  t.end()
})

t.test('places', t => {
  const cache = new LocationCache()
  cache.setPod(withConfig('web', 'a'), SHOP)
  t.strictSame(cache.podOf('uid-web'), {
    ...{ uid: 'uid-web', namespace: 'till', name: 'web', node: SHOP, serviceAccount: 'cashier' },
  })
  cache.setPod({ metadata: { name: 'bare', namespace: 'till', uid: 'b' } }, SHOP)
  t.match(cache.podOf('b'), { serviceAccount: '' })
  t.strictSame(
    cache.podsOf(SHOP).map(({ name }) => name),
    ['web', 'bare'],
  )
  t.strictSame(
    cache.setPod(withConfig('web', 'a'), OTHER),
    { begun: [need(OTHER, 'a')], ended: [need(SHOP, 'a')] },
    'the cluster says where a pod is',
  )
  t.strictSame(cache.usersOf('configmap', 'till', 'a'), [OTHER])
  t.strictSame(
    cache.podsOf(SHOP).map(({ name }) => name),
    ['bare'],
  )
  cache.removeNode(OTHER)
  t.strictSame([cache.podsOf(OTHER), cache.usersOf('configmap', 'till', 'a')], [[], []])
  cache.removeNode(OTHER)
  t.end()
})

t.test('after any changes the cache is what the existing pods imply', t => {
  const step = fc.record(
    {
      uid: fc.constantFrom('a', 'b', 'c'),
      name: fc.constantFrom('x', 'y'),
      node: fc.constantFrom(SHOP, OTHER),
      configs: fc.array(fc.tuple(fc.constantFrom('k', 'l', 'm'), fc.boolean()), { maxLength: 3 }),
      action: fc.constantFrom('set', 'set', 'set', 'remove', 'remove-node'),
    },
    { noNullPrototype: true },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), steps => {
      const cache = new LocationCache()
      const pods = new Map<string, { raw: JsonMap; node: typeof SHOP }>()
      const known = new Set<string>()
      for (const { uid, name, node, configs, action } of steps) {
        const raw = pod(
          name,
          { volumes: configs.map(([name, optional]) => configVolume(name, optional)) },
          { uid },
        )
        if (action === 'set') {
          const { begun, ended } = cache.setPod(raw, node)
          for (const { node, name } of ended) t.equal(known.delete(`${node} ${name}`), true)
          for (const { node, name } of begun) {
            t.equal(known.has(`${node} ${name}`), false)
            known.add(`${node} ${name}`)
          }
          pods.set(uid, { raw, node })
        } else if (action === 'remove') {
          for (const { node, name } of cache.removePod(uid)) known.delete(`${node} ${name}`)
          pods.delete(uid)
        } else {
          cache.removeNode(node)
          for (const [uid, { node: of }] of pods) if (of === node) pods.delete(uid)
          for (const key of known) if (key.startsWith(`${node} `)) known.delete(key)
        }
      }
      for (const node of [SHOP, OTHER])
        for (const name of ['k', 'l', 'm']) {
          const mentions = [...pods.values()]
            .filter(pod => pod.node === node)
            .flatMap(({ raw }) => referencesOf(raw))
            .filter(reference => reference.name === name)
          const expected =
            mentions.length === 0
              ? undefined
              : mentions.every(({ isOptional }) => isOptional)
                ? 'optional'
                : 'mandatory'
          t.equal(cache.needOf(node, 'configmap', 'till', name), expected)
          t.equal(cache.usersOf('configmap', 'till', name).includes(node), expected !== undefined)
          t.equal(known.has(`${node} ${name}`), expected !== undefined, 'what was told adds up')
          t.equal(
            cache.needsOf(node).some(need => need.name === name),
            expected !== undefined,
          )
        }
    }),
  )
  t.end()
})

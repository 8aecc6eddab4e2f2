// SPDX-License-Identifier: Apache-2.0
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { Informer, type InformerOptions } from '../../controller/informer.js'
import { systemClock, type Clock } from '../../core/clock.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import { fixedCredentials } from '../../kube/client/fixed-credentials.js'
import { makeResourceClient } from '../../kube/client/http-resource-client.js'
import type { WatchSink } from '../../kube/client/watching.js'
import type { ResourceType } from '../../kube/client/resource.js'
import { playInformer } from '../../testkit/kube/informer-scene.js'
import { testApi } from '../../testkit/kube/api-client.js'
import { recordingLog } from '../../testkit/recording-log.js'
import fc from '../../testkit/properties.js'
import { seededRandom } from '../../testkit/seeded-random.js'

/** What is kept of a ConfigMap. */
interface View {
  readonly value: string
  readonly version: string
}

interface Raw {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly resourceVersion: string
  }
  readonly data?: { readonly value?: string }
}

const MAPS = { group: '', version: 'v1', resource: 'configmaps' }

const raw = (name: string, version: number, value = 'x', uid = name): Raw => ({
  metadata: { name, namespace: 'shop', uid, resourceVersion: String(version) },
  data: { value },
})

/** `broken` cannot be read, `unwanted` is not wanted. */
const project = (object: unknown): View | undefined => {
  const { metadata, data } = object as Raw
  if (data?.value === 'broken') throw new Error('cannot be read')
  if (data?.value === 'unwanted') return undefined
  return { value: data?.value ?? '', version: metadata.resourceVersion }
}

/** An informer whose watch is in the test's hand. */
const bed = (more: Partial<InformerOptions<View>> = {}) => {
  const log = recordingLog()
  const changes: string[] = []
  const states: string[] = []
  let sink: WatchSink<unknown> | undefined
  let parse = (one: unknown): unknown => one
  let asked: unknown
  let hasStopped = false
  const watch: ResourceClient['watch'] = <T>(
    type: ResourceType<T>,
    which: object,
    to: WatchSink<T>,
  ) => {
    asked = { ...which, isMetadataOnly: type.isMetadataOnly, resource: type.resource }
    parse = type.parse
    sink = to
    return {
      status: { state: 'watching', lastHeardAt: 5, lists: 1, trouble: undefined, isAway: false },
      stop: async () => {
        hasStopped = true
      },
    }
  }
  const show = (view: View | undefined): string =>
    view === undefined ? '-' : `${view.value}${view.version}`
  const informer = new Informer<View>({
    client: { watch },
    log,
    resource: MAPS,
    form: 'full',
    project,
    indices: { value: view => [view.value], halves: view => view.value.split('') },
    onChange: (key, before, after) => changes.push(`${key} ${show(before)} ${show(after)}`),
    onState: status => states.push(`${status.state} ${status.objects}`),
    ...more,
  })
  const taken = (): string[] => changes.splice(0)
  return {
    informer,
    log,
    states,
    taken,
    asked: () => asked,
    hasStopped: () => hasStopped,
    replace: (...all: readonly Raw[]) => sink!.replace(all.map(parse)),
    upsert: (one: Raw) => sink!.upsert(parse(one)),
    remove: (name: string) => sink!.remove(`shop/${name}`),
    reached: (version: string) => sink!.reached!(version),
    changed: () => sink!.changed!(),
    parse: (one: unknown) => parse(one),
  }
}

t.test('additions, changes and removals are reported once, when the cache has them', async t => {
  const seen: (View | undefined)[] = []
  const one = bed()
  const { informer } = one
  t.match(informer.status, { state: 'idle', isSynced: false, objects: 0, resourceVersion: '' })
  informer.start()
  informer.start()
  t.strictSame(one.asked(), {
    ...{ namespace: undefined, labelSelector: undefined, fieldSelector: undefined },
    ...{ isMetadataOnly: false, resource: 'configmaps' },
  })
  one.replace(raw('a', 1), raw('b', 2, 'yz'))
  t.equal(await informer.synced, true)
  t.strictSame(one.taken(), ['shop/a - x1', 'shop/b - yz2'])
  one.upsert(raw('a', 3, 'y'))
  one.remove('b')
  one.remove('b')
  t.strictSame(one.taken(), ['shop/a x1 y3', 'shop/b yz2 -'])
  t.strictSame(informer.get('shop/a'), { value: 'y', version: '3' })
  t.equal(informer.get('shop/b'), undefined)
  t.strictSame([informer.keys(), informer.list()], [['shop/a'], [{ value: 'y', version: '3' }]])
  one.reached('7')
  const { status } = informer
  t.match(status, { state: 'watching', isSynced: true, objects: 1, resourceVersion: '7', lists: 1 })
  t.strictSame(seen, [])
})

t.test('a listener sees the cache as it is after the change', async t => {
  const seen: unknown[] = []
  const one = bed({ onChange: key => seen.push(one.informer.get(key)?.value) })
  one.informer.start()
  one.replace(raw('a', 1))
  one.upsert(raw('a', 2, 'y'))
  one.remove('a')
  t.strictSame(seen, ['x', 'y', undefined])
})

t.test(
  'a list after a break: what changed is reported, what did not is not, what went has gone',
  async t => {
    const one = bed()
    one.informer.start()
    one.replace(raw('a', 1), raw('b', 2), raw('c', 3), raw('d', 4))
    one.taken()
    one.replace(raw('a', 1), raw('b', 9, 'y'), raw('d', 8, 'z', 'another uid'), raw('e', 7))
    t.strictSame(one.taken(), [
      'shop/c x3 -',
      'shop/b x2 y9',
      'shop/d x4 -',
      'shop/d - z8',
      'shop/e - x7',
    ])
    one.replace(raw('a', 1), raw('b', 9, 'y'), raw('d', 8, 'z', 'another uid'), raw('e', 7))
    t.strictSame(one.taken(), [], 'the same again')
    one.upsert(raw('a', 1))
    t.strictSame(one.taken(), [], 'a watch that repeats itself')
    one.replace(raw('a', 1, 'older', 'restored'))
    t.match(one.taken().slice(-2), ['shop/a x1 -', 'shop/a - older1'], 'of a restored store')
  },
)

t.test(
  'an object that cannot be read is logged once and left out, and no other is touched',
  async t => {
    const one = bed()
    one.informer.start()
    one.replace(raw('a', 1, 'broken'), raw('b', 2), raw('c', 3, 'unwanted'))
    t.strictSame(one.taken(), ['shop/b - x2'])
    t.equal(one.informer.whyLeftOut('shop/a'), 'cannot be read')
    t.equal(one.informer.whyLeftOut('shop/c'), undefined)
    t.match(one.informer.status, { objects: 1, leftOut: 1 })
    one.upsert(raw('b', 4, 'broken'))
    one.upsert(raw('b', 5, 'broken'))
    t.strictSame(one.taken(), ['shop/b x2 -'], 'what was known of it is not true any more')
    t.equal(one.informer.status.leftOut, 2)
    t.strictSame(
      one.log.lines.map(({ fields }) => fields),
      [
        { what: 'configmaps', name: 'shop/a', error: 'cannot be read' },
        { what: 'configmaps', name: 'shop/b', error: 'cannot be read' },
      ],
    )
    one.upsert(raw('b', 6))
    one.remove('a')
    t.strictSame(one.taken(), ['shop/b - x6'])
    t.equal(one.informer.status.leftOut, 0)
    one.upsert(raw('b', 7, 'unwanted'))
    t.strictSame(one.taken(), ['shop/b x6 -'])
    t.throws(() => one.parse({ metadata: {} }), { code: 'INVALID_INPUT' }, 'no object at all')
  },
)

t.test('an index that throws leaves out only that object', async t => {
  const index = (view: View): readonly string[] => {
    if (view.value === 'q') throw new Error('no q')
    return [view.value]
  }
  const one = bed({ indices: { value: index } })
  one.informer.start()
  one.replace(raw('a', 1, 'q'), raw('b', 2))
  t.strictSame(one.taken(), ['shop/b - x2'])
  t.equal(one.informer.whyLeftOut('shop/a'), 'no q')
})

t.test('a listener that throws loses nothing', async t => {
  const one = bed({
    onChange: () => {
      throw new Error('oh')
    },
    onState: () => {
      throw new Error('ah')
    },
  })
  one.informer.start()
  one.replace(raw('a', 1), raw('b', 2))
  t.equal(one.informer.status.objects, 2)
  t.strictSame(
    one.log.lines.map(({ level, fields }) => `${level} ${String(fields['error'])}`),
    ['error oh', 'error oh', 'error ah'],
  )
})

t.test('states are reported, none after the stop, and what was known stays', async t => {
  const one = bed()
  one.informer.start()
  one.changed()
  one.replace(raw('a', 1))
  t.strictSame(one.states, ['watching 0', 'watching 1'])
  one.taken()
  await one.informer.stop()
  t.ok(one.hasStopped())
  one.upsert(raw('b', 2))
  one.changed()
  t.strictSame([one.taken(), one.states.length], [[], 2])
  t.equal(one.informer.status.state, 'stopped')
  t.match(one.informer.get('shop/a'), { value: 'x' })

  const early = bed()
  await early.informer.stop()
  early.informer.start()
  t.equal(await early.informer.synced, false)
  t.equal(early.asked(), undefined, 'stopped before it began')
  const late = bed()
  late.informer.start()
  await late.informer.stop()
  t.equal(await late.informer.synced, false)
})

t.test('whether a write can be seen yet', async t => {
  const one = bed()
  one.informer.start()
  for (const [at, version, want] of [
    ['9', '10', false],
    ['10', '9', true],
    ['10', '10', true],
    ['', '1', false],
    ['opaque', 'opaque', true],
    ['opaque', '1', false],
  ] as const) {
    one.reached(at)
    t.equal(one.informer.hasReached(version), want, `at '${at}', ${version}`)
  }
})

t.test('indices find what has the value now, whatever happened before', async t => {
  const names = ['a', 'b', 'c', 'd']
  const step = fc.record({
    kind: fc.constantFrom('list', 'upsert', 'remove'),
    name: fc.constantFrom(...names),
    value: fc.constantFrom('x', 'y', 'xy', 'broken', 'unwanted'),
    isAnew: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), steps => {
      const one = bed()
      const { informer } = one
      informer.start()
      const server = new Map<string, Raw>()
      const reported = new Map<string, string>()
      let version = 0
      for (const { kind, name, value, isAnew } of steps) {
        const old = server.get(name)
        const uid = isAnew || old === undefined ? `uid${++version}` : old.metadata.uid
        if (kind === 'remove') server.delete(name)
        else server.set(name, raw(name, ++version, value, uid))
        if (kind === 'list') one.replace(...server.values())
        else if (kind === 'remove') one.remove(name)
        // A watch tells a deletion before it tells what is made anew.
        else {
          if (old !== undefined && old.metadata.uid !== uid) one.remove(name)
          one.upsert(server.get(name)!)
        }
        for (const change of one.taken()) {
          const [key = '', before = '', after = ''] = change.split(' ')
          if ((reported.get(key) ?? '-') !== before)
            throw new Error(`${change}: told another before`)
          if (after === '-') reported.delete(key)
          else reported.set(key, after)
        }
      }
      const all = informer.list()
      const slow = (value: string) => all.filter(view => view.value.includes(value))
      for (const value of ['x', 'y'])
        t.strictSame(new Set(informer.byIndex('halves', value)), new Set(slow(value)))
      const wanted = [...server.values()].filter(one => ['x', 'y', 'xy'].includes(one.data!.value!))
      const shown = wanted.map(
        ({ metadata, data }) => `shop/${metadata.name} ${data!.value}${metadata.resourceVersion}`,
      )
      return (
        JSON.stringify([...reported].map(entry => entry.join(' ')).sort()) ===
        JSON.stringify(shown.sort())
      )
    }),
    { numRuns: 300 },
  )
  const one = bed()
  t.throws(
    () => one.informer.byIndex('unit', 'x'),
    /index must be one of value, halves, got "unit"/,
  )
})

/** Time that passes so many times as fast. */
const hurried = (times: number): Clock => ({
  now: () => systemClock.now() * times,
  boot: () => systemClock.boot() * times,
  wall: () => systemClock.wall(),
  after: (ms, wake) => systemClock.after(ms / times, wake),
})

const until = async (t: Test, what: string, isTrue: () => boolean): Promise<void> => {
  for (let i = 0; i < 500 && !isTrue(); i++) await new Promise(resolve => setTimeout(resolve, 10))
  t.ok(isTrue(), what)
}

t.test(
  'through cuts, silence and forgotten versions nothing is lost, and nothing is reported twice',
  async t => {
    const bed = await testApi()
    const { api } = bed
    const clock = hurried(100)
    const random = seededRandom(12)
    const log = recordingLog()
    const credentials = fixedCredentials({ server: api.url, token: api.addClient('informer') })
    const watch = { pageSize: 3, idleMs: 20_000, answerMs: 20_000 }
    const client = makeResourceClient(
      { credentials, clock, random, log },
      { fieldManager: 'f', watch },
    )
    t.teardown(async () => {
      await client.close()
      await api.stop()
    })
    const reported = new Map<string, string>()
    const wrong: string[] = []
    const versions: string[] = []
    const informer = new Informer<View>({
      ...{ client, log, resource: MAPS, namespace: 'default', form: 'full', project },
      onChange: (key, before, after) => {
        if (reported.get(key) !== before?.version) wrong.push(key)
        if (after === undefined) reported.delete(key)
        else {
          reported.set(key, after.version)
          versions.push(after.version)
        }
      },
    })
    const path = '/api/v1/namespaces/default/configmaps'
    const write = async (): Promise<void> => {
      const name = `m${random.below(8)}`
      const asked = random.below(4) === 0 ? 'DELETE' : 'POST'
      const body = { metadata: { name }, data: { value: `v${random.below(1_000)}` } }
      if (asked === 'DELETE') await bed.ask(`DELETE ${path}/${name}`)
      else if ((await bed.ask(`POST ${path}`, body)).status === 409)
        await bed.ask(`PUT ${path}/${name}`, body)
    }
    informer.start()
    await informer.synced
    const breaks = [
      () => api.cutLink('informer', 'refused'),
      () => api.cutLink('informer', 'silent'),
      () => api.store.forgetHistory(),
      () => undefined,
    ]
    for (let round = 0; round < 12; round++) {
      breaks[round % breaks.length]!()
      for (let i = 0; i < 12; i++) await write()
      // A link that is dead, not slow: the watch must notice by itself.
      if (round % 2 === 1) await new Promise(resolve => setTimeout(resolve, 300))
      if (round === 6) api.store.forgetHistory()
      api.healLink('informer')
    }
    const present = () =>
      new Map(
        api.store
          .list('configmaps', 'default')
          .map(({ metadata }) => [`default/${metadata.name}`, metadata.resourceVersion]),
      )
    const isTrue = () =>
      JSON.stringify([...present()].sort()) === JSON.stringify([...reported].sort())
    await until(t, 'what was told is what there is', isTrue)
    t.strictSame(new Map(informer.keys().map(key => [key, informer.get(key)!.version])), reported)
    t.strictSame(wrong, [], 'each change began where the last one ended')
    t.equal(new Set(versions).size, versions.length, 'no state was told twice')
    t.ok(informer.status.lists > 1, 'it had to list anew')
    await informer.stop()
  },
)

t.test('the scene that the lab plays to a real apiserver', async t => {
  const { api, token } = await testApi()
  t.teardown(() => api.stop())
  const forget = async (): Promise<void> => api.store.forgetHistory()
  t.strictSame(await playInformer({ url: api.url, token, id: 'scene', forget }), [])
})

t.test('10 000 objects take as much memory as what is kept of them', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const one = bed({ indices: { value: view => [view.value] } })
  const heap = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  one.informer.start()
  const before = heap()
  const load = 'l'.repeat(5_000)
  for (let i = 0; i < 10_000; i++) {
    const { metadata } = raw(`object-${i}`, i + 1)
    one.upsert({ metadata, data: { value: `v${i % 10}` }, load: `${load}${i}` } as Raw)
  }
  const grown = heap() - before
  t.equal(one.informer.status.objects, 10_000)
  t.equal(one.informer.byIndex('value', 'v3').length, 1_000)
  t.ok(grown < 20e6, `${(grown / 1e6).toFixed(1)} MB; whole they are 50`)
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { writeIdentity } from '../../../../agent/identity/annotation.js'
import { generateNodeKeys } from '../../../../agent/identity/node-keys.js'
import { rememberPins } from '../../../../agent/stages/identity/remembered-pins.js'
import type { StateName } from '../../../../agent/state-folder.js'
import { KubeStatusError, KubeUnreachableError } from '../../../../core/errors.js'
import { memoryFolder } from '../../../../testkit/zone/memory-folder.js'
import { bed, OTHER, ownNotes, SELF } from './bed.js'

t.test('own keys that are taken off the Node again are not written without end', async t => {
  let isKept = false
  const { clock, store, stage, writes, log } = await bed({
    isKept: () => isKept,
    notesOf: ownNotes,
  })
  await clock.advance(60_000)
  t.ok(writes.length >= 2 && writes.length <= 6, `${writes.length} writes in a minute`)
  t.equal(store.identities.current.own, undefined)
  t.match(
    log.lines.filter(({ level }) => level === 'warn'),
    { length: 1 },
    'it is logged, once',
  )
  isKept = true
  await clock.advance(60_000)
  t.ok(store.identities.current.own, 'they are published when they may stay')
  const { length } = writes
  await clock.advance(600_000)
  t.equal(writes.length, length)
  await stage.stop()
})

t.test('a Node that is made again gets its identity as soon as somebody asks for it', async t => {
  let isThere = true
  let uid = 'u1'
  const { clock, store, stage, writes } = await bed({
    notesOf: (name, own) => (isThere ? { ...ownNotes(name, own), uid } : undefined),
  })
  await clock.advance(5_000)
  // Somebody refuses us again and again, for reasons of their own: the own Node is right.
  const refused = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      store.unknownIdentity.emit(SELF)
      await clock.advance(500)
    }
  }
  await refused(60_000)
  const { length } = writes
  isThere = false
  await refused(12_000)
  isThere = true
  uid = 'u2'
  await refused(2_000)
  t.equal(writes.length, length + 1, 'written within two seconds')
  await stage.stop()
})

t.test('with require other keys count as soon as they have waited for long enough', async t => {
  const uid = 'u1'
  let text: string | undefined
  const { clock, store, stage, options, reads, log } = await bed({
    mode: 'require',
    notesOf: (name, own) => ownNotes(name, name === SELF ? own : text),
  })
  const subject = { clusterId: options.clusterId, node: OTHER, uid }
  const publish = (generation: number): void => {
    text = writeIdentity(subject, generation, generateNodeKeys())
    store.unknownIdentity.emit(OTHER)
  }
  const generation = (): number | undefined => store.identities.current.pins.get(OTHER)?.generation
  publish(1)
  await clock.advance(60_000)
  t.equal(generation(), 1)
  publish(2)
  // The time of silence counts from the start of this run, where nothing was heard.
  const countAt = options.identityChangeAfterMs
  while (clock.now() < countAt + 2_000 && generation() === 1) {
    store.unknownIdentity.emit(OTHER)
    await clock.advance(500)
  }
  t.equal(generation(), 2)
  const readAt = reads.findLast(({ name }) => name === OTHER)!.at
  t.ok(readAt >= countAt && readAt <= countAt + 1_000, `read at ${readAt} ms, due at ${countAt}`)
  const said = log.lines.filter(({ message }) => message === 'identity changed without its old key')
  t.match(said[0], { level: 'warn', fields: { member: OTHER } })
  t.ok(said.length > 2 && said.slice(1).every(({ level }) => level === 'debug'), 'it warns once')
  t.ok(said.every(({ fields }) => Number.isInteger(fields['ms'])))
  await stage.stop()
})

t.test('why the keys that a Node shows do not count is told, as long as it is so', async t => {
  let text: string | undefined
  const { clock, store, stage, options, setMembers } = await bed({
    notesOf: (name, own) => ownNotes(name, name === SELF ? own : text),
  })
  const written = (node: typeof OTHER, generation: number): string => {
    const subject = { clusterId: options.clusterId, node, uid: 'u1' }
    return writeIdentity(subject, generation, generateNodeKeys())
  }
  let told = 0
  store.identities.subscribe(() => told++)
  const shown = async (next: string): Promise<string | undefined> => {
    text = next
    store.unknownIdentity.emit(OTHER)
    await clock.advance(60_000)
    return store.identities.current.doubts?.get(OTHER)?.kind
  }
  const first = written(OTHER, 1)
  t.equal(await shown(first), undefined)
  t.equal(await shown(written(OTHER, 2)), 'ask')
  told = 0
  await clock.advance(60_000)
  t.equal(told, 0, 'once')
  t.equal(await shown(written(SELF, 3)), 'refuse', "made for another node's")
  t.equal(await shown(first), undefined)
  t.equal(await shown(written(OTHER, 2)), 'ask')
  setMembers([])
  await clock.advance(1_000)
  store.unknownIdentity.emit(OTHER)
  setMembers([OTHER])
  text = first
  await clock.advance(60_000)
  t.equal(store.identities.current.doubts?.size, 0, 'nothing is kept of who left')
  await stage.stop()
})

t.test(
  'a Node in doubt whose read fails is read again as soon as one whose read does not',
  async t => {
    const uid = 'u1'
    let text: string | undefined
    let failAt = Infinity
    const { clock, store, stage, options, reads } = await bed({
      notesOf: (name, own) => {
        if (name === OTHER && clock.now() >= failAt) {
          failAt = Infinity
          throw new KubeUnreachableError('GET', 'connection refused')
        }
        return ownNotes(name, name === SELF ? own : text)
      },
    })
    const publish = (generation: number): void => {
      const subject = { clusterId: options.clusterId, node: OTHER, uid }
      text = writeIdentity(subject, generation, generateNodeKeys())
      store.unknownIdentity.emit(OTHER)
    }
    publish(1)
    await clock.advance(20_000)
    // Nobody tells which keys the agent has.
    publish(2)
    await clock.advance(30_000)
    failAt = clock.now()
    const { length } = reads
    for (let passed = 0; passed < 40_000; passed += 500) {
      store.unknownIdentity.emit(OTHER)
      await clock.advance(500)
    }
    t.equal(failAt, Infinity, 'one failed')
    const ats = reads.slice(length - 1).flatMap(({ name, at }) => (name === OTHER ? [at] : []))
    const gaps = ats.slice(1).map((at, i) => at - ats[i]!)
    t.ok(gaps.length >= 3 && Math.max(...gaps) <= 10_000, `read again after ${gaps.join(', ')} ms`)
    await stage.stop()
  },
)

t.test(
  'an agent whose role does not let it publish its keys says so once, and asks seldom',
  async t => {
    const message = 'nodes "n1" is forbidden'
    let refusal: Error | undefined = new KubeStatusError('PATCH n1', {
      ...{ status: 403, reason: 'Forbidden', message, isFromApi: true },
    })
    const { clock, store, stage, writes, log } = await bed({
      refuses: () => refusal,
      notesOf: ownNotes,
    })
    await clock.advance(3_600_000)
    t.equal(store.identities.current.own, undefined)
    t.match(store.identities.current.trouble, /refuses the write: .*forbidden/)
    t.match(
      log.lines.filter(({ level }) => level === 'warn'),
      { length: 1 },
    )
    t.ok(writes.length >= 8 && writes.length <= 12, `${writes.length} writes in an hour`)
    const afterAnHour = writes.length
    for (let passed = 0; passed < 3_600_000; passed += 5_000) {
      store.unknownIdentity.emit(SELF)
      await clock.advance(5_000)
    }
    const more = writes.length - afterAnHour
    t.ok(more >= 5 && more <= 7, `${more} writes in an hour in which peers ask for its keys`)
    refusal = undefined
    await clock.advance(620_000)
    t.ok(store.identities.current.own, 'published once it may be')
    t.equal(store.identities.current.trouble, undefined)
    const { length } = writes
    await clock.advance(3_600_000)
    t.equal(writes.length, length)
    await stage.stop()
  },
)

t.test('what a slow disk remembers of others is read before their Nodes are', async t => {
  const first = generateNodeKeys()
  const pin = { node: OTHER, uid: 'u1', generation: 1, keys: first.public }
  const before = rememberPins([pin])
  const files = new Map<StateName, string>([['identities.json', before]])
  const { store, stage } = await bed({
    ...{ mode: 'require', startMs: 5_000 },
    folder: (clock, { nodeList }) => ({
      ...memoryFolder(files),
      read: async name => {
        if (name === 'identities.json') {
          // A Node changes, and the disk is busy.
          nodeList.set({ ...nodeList.current })
          await new Promise<void>(done => clock.after(2_000, done))
        }
        return files.get(name)
      },
    }),
    notesOf: (name, own) => {
      const subject = { clusterId: '', node: OTHER, uid: 'u1' }
      return ownNotes(name, name === SELF ? own : writeIdentity(subject, 2, generateNodeKeys()))
    },
  })
  const known = store.identities.current.pins.get(OTHER)?.keys.signing
  t.ok(known?.equals(first.public.signing), 'the keys that were known before are believed')
  t.equal(files.get('identities.json'), before, 'and stay on disk')
  await stage.stop()
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { writeIdentity } from '../../../../agent/identity/annotation.js'
import { generateNodeKeys } from '../../../../agent/identity/node-keys.js'
import { rememberPins } from '../../../../agent/stages/identity/remembered-pins.js'
import { KubeStatusError } from '../../../../core/errors.js'
import { parseNodeName, type NodeName } from '../../../../core/ids.js'
import { memoryFolder } from '../../../../testkit/zone/memory-folder.js'
import { bed, ownNotes, SELF, type BedOptions } from './bed.js'

const HOUR_MS = 3_600_000
const named = (count: number): NodeName[] =>
  Array.from({ length: count }, (_, i) => parseNodeName(`m${i}`))

/** Each member has keys; `SELF` has what it published. */
const zone = (
  others: readonly NodeName[],
  more: Partial<BedOptions> = {},
  isThere: (name: NodeName) => boolean = () => true,
) => {
  const keys = new Map(others.map(name => [name, generateNodeKeys()]))
  let uid = 'u1'
  const notesOf: BedOptions['notesOf'] = (name, own) => {
    if (name === SELF) return { ...ownNotes(name, own), resourceVersion: '5' }
    if (!isThere(name)) return undefined
    const subject = { clusterId: '', node: name, uid }
    return { ...ownNotes(name, writeIdentity(subject, 1, keys.get(name)!)), uid }
  }
  /** All members' Nodes are made again, with other keys. */
  const remake = (): void => {
    uid = 'u2'
    for (const name of others) keys.set(name, generateNodeKeys())
  }
  return { keys, remake, made: bed({ others, notesOf, ...more }) }
}

const refusal = (status: number, reason: string) =>
  new KubeStatusError('list', { status, reason, message: '', isFromApi: true })

t.test('a zone is read with few lists, none older than the own Node', async t => {
  const others = named(150)
  const { made } = zone(others)
  const { clock, store, stage, reads, listed } = await made
  await clock.advance(5_000)
  t.equal(store.identities.current.pins.size, 150)
  t.strictSame(
    listed.slice(0, 3).map(({ names, from }) => [names.length, from]),
    [64, 64, 22].map((length, i) => [length, i === 0 ? '5' : '7']),
  )
  const first = listed.slice(0, 3).flatMap(({ names }) => names)
  t.strictSame(first.sort(), [...others].sort())
  t.strictSame([...new Set(reads.map(({ name }) => name))], [SELF], 'no member is read alone')
  const { length } = listed
  await clock.advance(48 * HOUR_MS)
  const days = (listed.length - length) / 3 / 2
  t.ok(days >= 1.5 && days <= 3.5, `all are read ${days} times a day`)
  await stage.stop()
})

t.test('members whose keys are on disk are read within half a day', async t => {
  const others = named(3)
  const pins = others.map(node => ({
    ...{ node, uid: 'u1', generation: 1, keys: generateNodeKeys().public },
  }))
  const folder = memoryFolder(new Map([['identities.json', rememberPins(pins)]]))
  const { made } = zone(others, { folder: () => folder })
  const { clock, stage, listed } = await made
  await clock.advance(60_000)
  t.strictSame(listed, [])
  await clock.advance(12 * HOUR_MS)
  t.strictSame([...listed[0]!.names].sort(), others)
  await stage.stop()
})

t.test('whom no list finds by its host’s name is read alone', async t => {
  const long = parseNodeName(`${'a'.repeat(40)}.${'b'.repeat(40)}`)
  const others = [...named(3), long]
  const { made } = zone(others, { lists: names => names.filter(name => name !== 'm1') })
  const { clock, store, stage, reads, listed } = await made
  await clock.advance(5_000)
  t.equal(store.identities.current.pins.size, 4)
  const alone = (): string[] => reads.map(({ name }) => name).filter(name => name !== SELF)
  t.strictSame(new Set(alone()), new Set([long, 'm1']))
  const { length } = listed
  store.unknownIdentity.emit(parseNodeName('m1'))
  await clock.advance(HOUR_MS / 60)
  t.equal(listed.length, length, 'not listed again before all are due')
  await clock.advance(24 * HOUR_MS)
  t.strictSame(new Set(alone()), new Set([long, 'm1']))
  await stage.stop()
})

t.test('from a server that refuses such lists members are read one by one', async t => {
  let isRefusing = true
  const { made } = zone(named(3), {
    lists: names => {
      if (isRefusing) throw refusal(400, 'BadRequest')
      return names
    },
  })
  const { clock, store, stage, listed } = await made
  await clock.advance(180_000)
  t.equal(store.identities.current.pins.size, 3)
  t.match(listed, { length: 3 })
  isRefusing = false
  await clock.advance(24 * HOUR_MS)
  t.ok(listed.length > 3, 'once all are due again lists are tried again')
  await stage.stop()
})

t.test('a server that is busy is asked for the list again', async t => {
  const { made } = zone(named(3), {
    lists: (names, count) => {
      if (count === 1) throw refusal(429, 'TooManyRequests')
      if (count === 2) throw new Error('the connection broke')
      return names
    },
  })
  const { clock, store, stage, reads, listed } = await made
  await clock.advance(180_000)
  t.equal(store.identities.current.pins.size, 3)
  t.notOk(reads.some(({ name }) => name !== SELF))
  t.strictSame(
    listed.slice(0, 3).map(({ from }) => from),
    ['5', '5', '5'],
  )
  await stage.stop()
})

t.test('a server that has not come so far is asked for the newest list', async t => {
  const { made } = zone(named(3), {
    lists: (names, count) => {
      if (count === 1) throw refusal(504, 'Timeout')
      return names
    },
  })
  const { clock, store, stage, listed } = await made
  await clock.advance(180_000)
  t.equal(store.identities.current.pins.size, 3)
  t.equal(listed[1]?.from, null)
  await stage.stop()
})

t.test('a member that leaves while it is listed is not taken in', async t => {
  const others = named(3)
  const gone = others[1]!
  let leave = (): void => undefined
  const { made, remake } = zone(others, {
    lists: names => {
      leave()
      return names
    },
  })
  const { clock, store, stage, setMembers } = await made
  leave = () => setMembers(others.filter(name => name !== gone))
  remake()
  await clock.advance(16 * HOUR_MS)
  t.strictSame(new Set(store.identities.current.pins.keys()), new Set(['m0', 'm2']))
  await stage.stop()
})

t.test('who left during an earlier list of a round is not read any more', async t => {
  const others = named(150)
  let leave: (() => void) | undefined
  const { made } = zone(others, {
    lists: names => {
      queueMicrotask(() => leave?.())
      return names
    },
  })
  const { clock, store, stage, listed, reads, setMembers } = await made
  await clock.advance(5_000)
  const { length } = listed
  leave = () => {
    leave = undefined
    setMembers(others.slice(0, 5))
  }
  await clock.advance(20 * HOUR_MS)
  t.ok(listed.length > length)
  t.equal(store.identities.current.pins.size, 5)
  t.notOk(
    listed.slice(length + 1).some(({ names }) => names.length > 5),
    'they are not listed after they left',
  )
  const stay = [SELF, ...others.slice(0, 5)]
  t.ok(reads.every(({ name }) => stay.includes(name)))
  await stage.stop()
})

t.test(
  'Nodes that are gone do not hold up the others, and are asked for ever more rarely',
  async t => {
    const long = Array.from({ length: 40 }, (_, i) => parseNodeName(`${'a'.repeat(63)}.x${i}`))
    const others = [...long, ...named(20)]
    const { made } = zone(others, {}, name => !long.includes(name))
    const { clock, store, stage, reads } = await made
    await clock.advance(60_000)
    t.equal(store.identities.current.pins.size, 20)
    await clock.advance(24 * HOUR_MS)
    const count = reads.filter(({ name }) => name !== SELF).length
    t.ok(count < 40 * 160, `${count} reads in a day, where one in 15 s would be ${40 * 5_760}`)
    await stage.stop()
  },
)

t.test('an older list is not believed: another one is read from etcd', async t => {
  const { remake, made } = zone(named(3), {
    versions: count => (count === 2 ? '3' : '7'),
  })
  const { clock, store, stage, listed } = await made
  await clock.advance(5_000)
  const before = store.identities.current.pins
  const seen: unknown[] = []
  store.identities.subscribe(() => seen.push(listed.length))
  remake()
  await clock.advance(16 * HOUR_MS)
  t.strictSame(
    listed.slice(1, 3).map(({ from }) => from),
    ['7', null],
  )
  t.not(store.identities.current.pins, before)
  t.strictSame(seen, [3], 'only what etcd said counts')
  await stage.stop()
})

t.test('what messages suggest is read at a steady pace, however many they name', async t => {
  const others = named(500)
  const { made } = zone(others)
  const { clock, store, stage, listed } = await made
  await clock.advance(60_000)
  const { length } = listed
  for (let i = 0; i < 600; i++) {
    for (const name of others) store.unknownIdentity.emit(name)
    await clock.advance(1_000)
  }
  const nodes = listed.slice(length).reduce((sum, { names }) => sum + names.length, 0)
  t.ok(nodes >= 1_000 && nodes <= 2 * 600 + 30 + 64, `${nodes} Nodes in ten minutes`)
  await stage.stop()
})

t.test('a message that comes while its Node is listed is not forgotten', async t => {
  const others = named(3)
  let speak = (): void => undefined
  const { remake, made } = zone(others, {
    lists: names => {
      queueMicrotask(() => speak())
      return names
    },
  })
  const { clock, store, stage, reads } = await made
  await clock.advance(5_000)
  let saidAt = -1
  speak = () => {
    if (saidAt < 0) store.unknownIdentity.emit(others[0]!)
    saidAt = clock.now()
  }
  remake()
  await clock.advance(16 * HOUR_MS)
  t.match(
    reads.filter(({ name }) => name !== SELF).map(({ name }) => name),
    ['m0'],
  )
  await stage.stop()
})

t.test('listed members with other keys are asked to speak once those count', async t => {
  const others = named(3)
  const { keys, remake, made } = zone(others)
  const { clock, store, stage } = await made
  await clock.advance(5_000)
  const asked: NodeName[] = []
  store.whoHasKeys.subscribe(name => {
    asked.push(name)
    const pin = store.identities.current.pins.get(name)
    t.ok(pin?.keys.signing.equals(keys.get(name)!.public.signing))
  })
  remake()
  await clock.advance(16 * HOUR_MS)
  t.strictSame(asked.sort(), others)
  await stage.stop()
})

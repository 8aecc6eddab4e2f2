// SPDX-License-Identifier: Apache-2.0
// Lists that do not come, whatever is at fault: each member that has published its keys is known all the same.
import t from 'tap'
import { writeIdentity } from '../../../../agent/identity/annotation.js'
import { generateNodeKeys } from '../../../../agent/identity/node-keys.js'
import { KubeStatusError, KubeUnreachableError } from '../../../../core/errors.js'
import { parseNodeName, type NodeName } from '../../../../core/ids.js'
import { bed, ownNotes, SELF, type BedOptions } from './bed.js'

const MINUTE_MS = 60_000
const named = (count: number): NodeName[] =>
  Array.from({ length: count }, (_, i) => parseNodeName(`m${i}`))

const status = (code: number): Error =>
  new KubeStatusError('list', { status: code, reason: '', message: '', isFromApi: true })
const broken = new KubeUnreachableError('GET /api/v1/nodes', 'the answer is not JSON')

const zone = (others: readonly NodeName[], more: Partial<BedOptions>) => {
  const uids = new Map(others.map(name => [name, 'u1']))
  const keys = new Map(others.map(name => [name, generateNodeKeys()]))
  const notesOf: BedOptions['notesOf'] = (name, own) => {
    if (name === SELF) return ownNotes(name, own)
    const uid = uids.get(name)!
    const subject = { clusterId: '', node: name, uid }
    return { ...ownNotes(name, writeIdentity(subject, 1, keys.get(name)!)), uid }
  }
  /** The member's Node is made again, with other keys. */
  const remake = (name: NodeName): void => {
    uids.set(name, 'u2')
    keys.set(name, generateNodeKeys())
  }
  return { keys, remake, made: bed({ others, notesOf, ...more }) }
}

for (const [what, error] of [
  ['a cache that breaks them', broken],
  ['a proxy that finds no server for them', status(502)],
  ['a server without room for them', status(429)],
] as const)
  t.test(`where lists alone fail members are read one by one: ${what}`, async t => {
    const { made } = zone(named(70), {
      lists: () => {
        throw error
      },
    })
    const { clock, store, stage, listed, log } = await made
    await clock.advance(4 * MINUTE_MS)
    t.equal(store.identities.current.pins.size, 70)
    t.equal(listed.length, 4)
    t.match(
      log.lines.filter(({ level }) => level === 'warn'),
      [{ message: /^lists of Nodes fail/, fields: { error: error.message } }],
      'it is said once, and why',
    )
    await stage.stop()
  })

for (const minutes of [10, 11, 12, 13, 14])
  t.test(`after an outage of ${minutes} minutes there are lists again`, async t => {
    let isAway = true
    const others = named(70)
    const { made } = zone(others, {
      lists: names => {
        if (isAway) throw broken
        return names
      },
      notesOf: (name, own) => {
        if (isAway && name !== SELF) throw broken
        return ownNotes(name, name === SELF ? own : undefined)
      },
    })
    const { clock, stage, listed, reads, log } = await made
    await clock.advance(minutes * MINUTE_MS)
    const probes = reads.filter(({ name }) => name !== SELF).length
    t.ok(probes >= 3 && listed.length >= 2 * probes, `${listed.length} lists, ${probes} alone`)
    isAway = false
    const [lists, single] = [listed.length, reads.length]
    await clock.advance(2 * MINUTE_MS)
    const names = listed.slice(lists).flatMap(list => list.names)
    t.ok(new Set(names).size >= 69)
    t.ok(reads.length - single <= 2, `${reads.length - single} read alone`)
    t.notOk(log.lines.some(({ level }) => level === 'warn'))
    await stage.stop()
  })

t.test('a member that comes back with another Node while it is listed is read again', async t => {
  const others = named(3)
  const again = others[1]!
  const changes: (() => void)[] = []
  const { keys, remake, made } = zone(others, {
    lists: names => {
      queueMicrotask(() => changes.pop()?.())
      return names
    },
  })
  const { clock, store, stage, setMembers } = await made
  await clock.advance(MINUTE_MS)
  changes.push(() => {
    setMembers(others.filter(name => name !== again))
    remake(again)
    setMembers(others)
  })
  while (changes.length > 0) await clock.advance(MINUTE_MS)
  const pin = store.identities.current.pins.get(again)
  t.ok(pin?.keys.signing.equals(keys.get(again)!.public.signing))
  await stage.stop()
})

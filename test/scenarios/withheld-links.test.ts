// SPDX-License-Identifier: Apache-2.0
// A stolen node keeps a dead node's signs of life for itself, and hands them out as late as it can in its half of a partition.
import t from 'tap'
import type { PlacedEntry } from '../../agent/stages/exchange/signed-body.js'
import { ExchangeZone, memberAt } from '../../testkit/zone/exchange-zone.js'
import { TestIdentities } from '../../testkit/zone/identities.js'
import { Insider } from '../../testkit/zone/insider.js'

const SECOND = 1_000
const TTL_MS = 60 * SECOND
const SLOT_MS = SECOND
/** Under way, and until the next exchange with whoever heard it first. */
const BEST_DELAY_MS = 500

const SIZE = 9
/** Node 0 is stolen. */
const HALF = [0, 1, 2, 3] as const
const OTHERS = [4, 5, 6, 7, 8] as const
const DEAD = 3

interface Play {
  /** For so long before the cut the insider notes each second what the absent nodes say. */
  readonly keptMs: number
  /** For so long before it dies the node reaches the insider alone, which passes nothing on. */
  readonly isolatedMs?: number
  /** A second after the cut this node starts anew. */
  readonly restarts?: number
  /** The insider waits until that one has heard from somebody else. */
  readonly isPatient?: boolean
}

/**
 * The zone is cut in two, one of the smaller side dies, and the insider shows what it kept of everybody who is away.
 * @returns of both healthy nodes on the insider's side for how long after the cut they held anybody who is away for fresh, and
 * how long after the cut the youngest of those records seemed to be made; and how old the oldest one was with the node that
 * goes on when the insider begins
 */
const play = async ({ keptMs, isolatedMs = 0, restarts, isPatient = false }: Play) => {
  const zone = new ExchangeZone(SIZE, 3)
  const { clock, network, members, agents } = zone
  const identities = new TestIdentities(members.map(({ name }) => name))
  const boot = (n: number) =>
    zone.start(n, { o: { identity: 'require' }, identities: identities.of(memberAt(n).name) })
  for (let n = 0; n < SIZE; n++) boot(n)
  await clock.advance(40 * SECOND)
  agents[0]!.kill()
  const insider = new Insider(zone, 0, identities)
  const madeAt = (at: number, of: number): number => {
    const { engine, index } = agents[at]!
    return engine.table.producedAt[index(of)]!
  }
  const away = [DEAD, ...OTHERS]
  const kept = new Map(away.map((n): [number, PlacedEntry[]] => [n, []]))
  for (let ms = keptMs; ms > 0; ms -= SECOND) {
    if (ms === isolatedMs)
      for (const { address } of members.filter((_, n) => n !== DEAD)) {
        network.cut(memberAt(DEAD).address, address)
        network.cut(address, memberAt(DEAD).address)
      }
    await clock.advance(SECOND)
    for (const [n, list] of kept) {
      const place = agents[n]!.index(n)
      list.push(insider.send(n, []).news.find(entry => entry.place === place)!)
    }
  }
  network.partition(...[HALF, OTHERS].map(side => side.map(n => memberAt(n).address)))
  agents[DEAD]!.kill()
  const cutAt = clock.now()
  if (restarts !== undefined) {
    agents[restarts]!.kill()
    await clock.advance(SECOND)
    boot(restarts)
    const hasHeard = (): boolean => away.every(n => madeAt(restarts, n) > -Infinity)
    if (isPatient) await zone.until(hasHeard, 30 * SECOND)
  }
  const oldestMs = Math.max(...away.map(n => clock.now() - madeAt(1, n)))
  const held = new Map([1, 2].map(n => [n, { freshMs: 0, youngestMs: -Infinity }]))
  for (let second = 0; second < keptMs / SECOND + 90; second++) {
    for (const [n, list] of kept) {
      const first = isolatedMs === 0 ? 0 : list.length - isolatedMs / SECOND
      const { place, entry } = list[Math.min(first + second, list.length - 1)]!
      if (entry.kind !== 'statement') throw new Error(entry.kind)
      const { slot } = entry.received.statement
      // As young as can be: at the end of its slot.
      const quarters = entry.progress.quarters + slot - 1 - (entry.progress.quarters % slot)
      const news = { place, entry: { ...entry, age: 0, progress: { ...entry.progress, quarters } } }
      for (const [to, of] of held) {
        insider.send(to, [news])
        const made = madeAt(to, n)
        if (clock.now() - made < TTL_MS) of.freshMs = clock.now() - cutAt
        of.youngestMs = Math.max(of.youngestMs, made - cutAt)
      }
    }
    await clock.advance(SECOND)
  }
  await zone.stop()
  return { stayed: held.get(1)!, other: held.get(2)!, oldestMs }
}

const MOST_MS = TTL_MS + SLOT_MS + BEST_DELAY_MS

t.test('in a half of a partition nobody who is away is fresh for longer than a record', async t => {
  // With links that nobody else has, and with links that all have.
  for (const isolatedMs of [50 * SECOND, 0]) {
    const { stayed, other } = await play({ keptMs: 60 * SECOND, isolatedMs })
    for (const { freshMs, youngestMs } of [stayed, other]) {
      t.ok(freshMs <= MOST_MS, `fresh for ${freshMs / SECOND} s after the cut`)
      t.ok(freshMs > 40 * SECOND, 'they were heard')
      // A verdict takes 2.5 s at least, so none that is counted has votes from before the cut.
      t.ok(youngestMs <= SLOT_MS + BEST_DELAY_MS, `made ${youngestMs} ms after it, as it seems`)
    }
  }
})

t.test(
  'a node that starts after the cut holds them for as much younger as it heard late',
  async t => {
    const { other, oldestMs } = await play({ keptMs: 60 * SECOND, restarts: 2, isPatient: true })
    t.ok(other.freshMs > 40 * SECOND, 'they were heard')
    const texts = [other.freshMs, oldestMs].map(ms => `${(ms / SECOND).toFixed(1)} s`)
    t.ok(other.freshMs <= MOST_MS + oldestMs, `fresh for ${texts[0]}; heard ${texts[1]} late`)
  },
)

t.test('… and where it hears the stolen one first, for as long as that kept of them', async t => {
  const keptMs = 60 * SECOND
  const { stayed, other } = await play({ keptMs, restarts: 2 })
  t.ok(stayed.freshMs <= MOST_MS, `fresh for ${stayed.freshMs / SECOND} s with who did not start`)
  t.ok(other.freshMs <= keptMs + MOST_MS, `fresh for ${other.freshMs / SECOND} s`)
})

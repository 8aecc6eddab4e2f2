// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { ExchangeZone, memberAt } from '../../../../testkit/zone/exchange-zone.js'
import { TestIdentities } from '../../../../testkit/zone/identities.js'
import { Insider } from '../../../../testkit/zone/insider.js'

const SECOND = 1_000
const ASKED = 600

/** What one honest agent of a zone answers to an insider that it has never heard, and to one that asks on and on. */
const answers = async (
  size: number,
  { hash, keyless = 0 }: { hash?: bigint; keyless?: number } = {},
): Promise<{ challenge: number; perSecond: number }> => {
  const zone = new ExchangeZone(size, 1)
  const names = zone.members.map(({ name }) => name)
  const identities = new TestIdentities(names.slice(0, size - keyless))
  const identity = keyless === 0 ? 'require' : 'prefer'
  for (let n = 0; n < size; n++)
    zone.start(n, { o: { identity }, identities: identities.of(memberAt(n).name) })
  await zone.clock.advance(20 * SECOND)
  zone.agents[0]!.kill()
  const insider = new Insider(zone, 0, identities)
  const alter = (): Uint8Array => Buffer.alloc(7).fill(5, 0, 1)
  const order = hash === undefined ? { alter } : { alter, hash }
  const challenge = insider.send(1, [], order).challengeBytes
  let bytes = 0
  for (let asked = 0; asked < ASKED; asked++) {
    await zone.clock.advance(50)
    bytes += insider.send(1, [], order).answerBytes
  }
  await zone.stop()
  return { challenge, perSecond: Math.round(bytes / ((ASKED * 50) / SECOND)) }
}

t.test('a challenge is short, whatever roster the request is said to be made for', async t => {
  const same = await answers(40)
  const other = await answers(40, { hash: 1n })
  t.comment(JSON.stringify({ same, other }))
  t.ok(other.challenge < same.challenge + 16, `${other.challenge} bytes, ${same.challenge} else`)
  t.ok(other.perSecond < 1.2 * same.perSecond, `${other.perSecond} bytes/s, ${same.perSecond} else`)
})

t.test('records of members without keys are part of the budget', async t => {
  const all = await answers(40)
  const some = await answers(40, { keyless: 35 })
  t.comment(JSON.stringify({ all, some }))
  t.ok(some.perSecond < 1.2 * all.perSecond, `${some.perSecond} bytes/s, ${all.perSecond} else`)
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { ExchangeZone, memberAt } from '../../../../testkit/zone/exchange-zone.js'
import { TestIdentities } from '../../../../testkit/zone/identities.js'
import { Insider } from '../../../../testkit/zone/insider.js'

const SECOND = 1_000
const ASKED = 600
const SIZE = 400
/** As `docs/protocol.md` has it: what all members say, once in four seconds, and four times at once. */
const ZONE_BYTES = 128 * SIZE
const MOST_PER_SECOND = ZONE_BYTES / 4 + (4 * ZONE_BYTES) / ((ASKED * 50) / SECOND)

/** What an honest agent of a large zone answers to an insider that asks on and on and says that it knows nothing. */
const answers = async (hash?: bigint): Promise<{ challenge: number; perSecond: number }> => {
  const zone = new ExchangeZone(SIZE, 1)
  const identities = new TestIdentities(zone.members.map(({ name }) => name))
  for (let n = 0; n < 3; n++)
    zone.start(n, { o: { identity: 'require' }, identities: identities.of(memberAt(n).name) })
  await zone.clock.advance(5 * SECOND)
  zone.agents[0]!.kill()
  const insider = new Insider(zone, 0, identities)
  // No digest.
  const alter = (): Uint8Array => Buffer.from([5, 0, 0, 0, 0, 0, 0])
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

t.test('an answer is short, whatever roster the request is said to be made for', async t => {
  const same = await answers()
  const other = await answers(1n)
  t.comment(JSON.stringify({ same, other, budget: MOST_PER_SECOND }))
  t.ok(other.challenge < same.challenge + 16, `${other.challenge} bytes, ${same.challenge} else`)
  t.ok(
    other.perSecond < same.perSecond + MOST_PER_SECOND,
    `${other.perSecond} bytes/s, ${same.perSecond} else`,
  )
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { RecordTable } from '../../../../agent/records/table.js'
import { resolveAgentOptions } from '../../../../agent/options/resolve.js'
import type { ZoneState } from '../../../../agent/results.js'
import { makeVoter } from '../../../../agent/stages/vote/voter.js'
import { makeResultStore } from '../../../../agent/store.js'
import { parseNodeName, parseZoneName } from '../../../../core/ids.js'
import { makeRoster } from '../../../../core/roster.js'
import { makeJudgement } from '../../../../vote/judgement.js'
import { WriterRanking } from '../../../../vote/writer-ranking.js'
import { makeVouching } from '../../../../vote/vouch.js'
import { NO_WITNESS } from '../../../../vote/witness.js'
import { range, ScriptedEvidence } from '../../../../testkit/zone/evidence.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'

const SIZE = 5
const members = range(SIZE).map(i => ({ name: parseNodeName(`n${i}`), address: `10.0.0.${i + 1}` }))
const roster = makeRoster(parseZoneName('z'), members[0]!.name, members)

t.test('younger records are judged unless the zone is whole', async t => {
  const clock = new FakeClock()
  const { options } = resolveAgentOptions({
    flags: [
      { name: 'node-name', text: 'n0' },
      { name: 'node-address', text: '10.0.0.1' },
    ],
    env: {},
  })
  const store = makeResultStore(clock.now())
  const stateOf = (e: ScriptedEvidence): ZoneState => ({
    roster,
    table: e as unknown as RecordTable,
    judgement: makeJudgement(SIZE),
    vouching: makeVouching(SIZE),
    ranking: new WriterRanking([], 0),
  })
  let votes = 0
  store.vote.subscribe(() => votes++)
  const voter = makeVoter(options, {
    store,
    clock,
    witness: () => NO_WITNESS,
    onDue: () => voter.vote(),
  })
  const votesOf = (act: () => void): number => {
    const before = votes
    act()
    return votes - before
  }
  const e = new ScriptedEvidence(SIZE, roster.self, { now: clock.now() })
  const passQuietly = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) {
      await clock.advance(2_000)
      e.hear(range(SIZE), clock.now())
      voter.vote()
    }
  }
  store.zone.set(stateOf(e))
  t.equal(
    votesOf(() => voter.refreshed()),
    1,
    'nothing was judged yet',
  )
  await passQuietly()
  t.equal(
    votesOf(() => voter.refreshed()),
    0,
    'whole',
  )
  t.equal(
    votesOf(() => voter.vote()),
    1,
    'the schedule votes all the same',
  )
  store.zone.set(stateOf(e))
  t.equal(
    votesOf(() => voter.refreshed()),
    1,
    'another roster',
  )
  await passQuietly()
  e.say([1], [2], true, clock.now())
  voter.vote()
  t.equal(
    votesOf(() => voter.refreshed()),
    1,
    'one says that another is down',
  )
  voter.stop()
})

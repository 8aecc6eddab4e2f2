// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { makeChecker, type Checker } from '../../../../agent/stages/check/checker.js'
import { resolveAgentOptions } from '../../../../agent/options/resolve.js'
import { parseNodeName } from '../../../../core/ids.js'
import { unusable } from '../../../../plugins/outcome.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { answer, refusal, ScriptedPlugin, trouble, type Scene } from '../../scripted-plugin.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'

const { options } = resolveAgentOptions({ flags: [{ name: 'node-name', text: 'n0' }], env: {} })
const n1 = parseNodeName('n1')
const targets = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    name: parseNodeName(`n${i + 1}`),
    address: `10.0.0.${i + 1}`,
  }))

const world = (script: () => Scene): { readonly clock: FakeClock; readonly checker: Checker } => {
  const clock = new FakeClock(0)
  const checker = makeChecker(options, {
    ...{ clock, random: seededRandom(1), log: recordingLog() },
    plugins: [new ScriptedPlugin(clock, script)],
    onRound: () => undefined,
    onVoid: () => undefined,
    callForVotes: () => undefined,
  })
  return { clock, checker }
}

t.test('FA3: one stalled round changes no vote, however long it was', async t => {
  let scene: Scene = answer()
  const w = world(() => scene)
  w.checker.setTargets(targets(1))
  await w.clock.advance(30_000)
  scene = trouble()
  await w.clock.advance(21_000)
  t.match(w.checker.stateOf(n1), { failedRounds: 0 }, 'two void rounds')
  await w.clock.advance(12_000)
  t.match(w.checker.stateOf(n1), { failedRounds: -1 }, 'three')
  await w.checker.stop()
})

t.test('FA3: a plugin that cannot run before something is repaired is named', async t => {
  let scene: Scene = { afterMs: 1, result: unusable('cannot read /ca.pem: no such file') }
  const w = world(() => scene)
  w.checker.setTargets(targets(2))
  t.equal(w.checker.trouble, undefined, 'nothing is known yet')
  await w.clock.advance(5_000)
  t.equal(w.checker.trouble, 'check plugin probe cannot run: cannot read /ca.pem: no such file')
  scene = refusal()
  await w.clock.advance(15_000)
  t.equal(w.checker.trouble, undefined, 'a failure is an answer')
  await w.checker.stop()
})

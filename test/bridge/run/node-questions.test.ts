// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { NodeQuestions } from '../../../bridge/run/node-questions.js'
import type { NodeName } from '../../../core/ids.js'
import { FakeClock, settle } from '../../../testkit/fake-clock.js'

const [E1, E2] = ['e1', 'e2'] as NodeName[] as [NodeName, NodeName]

const openQuestions = () => {
  const clock = new FakeClock()
  const asked: { readonly node: string; answer(is: boolean): void; fail(error: Error): void }[] = []
  const questions = new NodeQuestions({
    ...{ clock, signal: new AbortController().signal },
    ask: node => new Promise((answer, fail) => asked.push({ node, answer, fail })),
  })
  const answers: unknown[] = []
  const ask = (node = E1): void =>
    void questions.ask(node).then(
      is => answers.push(is),
      (error: unknown) => answers.push((error as Error).message),
    )
  return { clock, asked, ask, answers }
}

t.test('the first question is asked at once, the ones after it together', async t => {
  const { clock, asked, ask, answers } = openQuestions()
  ask()
  ask(E2)
  t.strictSame(
    asked.map(({ node }) => node),
    ['e1', 'e2'],
  )
  for (let i = 0; i < 20; i++) ask()
  asked[0]!.answer(false)
  await settle()
  t.strictSame(answers, [false], 'the answer is older than the later questions')
  await clock.advance(249)
  t.equal(asked.length, 2)
  await clock.advance(1)
  t.equal(asked.length, 3)
  asked[2]!.answer(true)
  await settle()
  t.strictSame(answers, [false, ...Array<boolean>(20).fill(true)])
})

t.test('one question about a node runs at a time, however long it takes', async t => {
  const { clock, asked, ask, answers } = openQuestions()
  ask()
  ask()
  await clock.advance(10_000)
  t.equal(asked.length, 1)
  asked[0]!.fail(new Error('away'))
  await settle()
  t.strictSame([answers, asked.length], [['away'], 2])
  asked[1]!.answer(false)
  await clock.advance(250)
  ask()
  t.equal(asked.length, 3, 'after a while at once again')
  asked[2]!.answer(false)
  await clock.advance(250)
  t.equal(clock.waiting, 0)
})

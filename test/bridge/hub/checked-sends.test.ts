// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { CheckedSends } from '../../../bridge/hub/checked-sends.js'
import type { NodeName } from '../../../core/ids.js'
import { settle } from '../../../testkit/fake-clock.js'

/** What each question is answered with, when it is answered. */
const openSends = () => {
  const questions: { answer: (isForeign: boolean) => void; fail: (error: Error) => void }[] = []
  const done: string[] = []
  const state = { isEdge: false, isBroken: false }
  const sends = new CheckedSends({
    node: 'e1' as NodeName,
    isEdge: () => state.isEdge,
    isForeign: () => {
      if (state.isBroken) throw new Error('no question')
      return new Promise((answer, fail) => {
        questions.push({ answer, fail })
      })
    },
    onForeign: () => done.push('ended'),
    onUnknown: error => done.push(`unknown: ${error}`),
    onBug: error => done.push(`bug: ${(error as Error).message}`),
  })
  const send = (what: string): void =>
    sends.send(
      () => done.push(what),
      () => done.push(`lost: ${what}`),
    )
  return { done, questions, send, sends, state }
}

t.test('for a known edge node everything leaves at once, without a question', t => {
  const { done, questions, send, state } = openSends()
  state.isEdge = true
  send('a')
  t.strictSame([done, questions.length], [['a'], 0])
  t.end()
})

t.test(
  'otherwise the cluster is asked first, and again for what came after the question',
  async t => {
    const { done, questions, send, state } = openSends()
    send('a')
    send('b')
    state.isEdge = true
    send('c')
    t.strictSame(done, [], 'nothing leaves before the answer, nor out of order')
    questions[0]!.answer(false)
    await settle()
    t.strictSame(done, ['a'], 'the answer is older than what came since')
    questions[1]!.answer(false)
    await settle()
    t.strictSame(done, ['a', 'b', 'c'])
    send('d')
    t.strictSame([done.at(-1), questions.length], ['d', 2])
  },
)

t.test('no answer is used twice', async t => {
  const { done, questions, send } = openSends()
  send('a')
  questions[0]!.answer(false)
  await settle()
  send('b')
  questions[1]!.answer(true)
  await settle()
  t.strictSame(done, ['a', 'ended', 'lost: b'], 'a Node that is none of an edge was made meanwhile')
})

t.test('while it cannot be known nothing leaves, and who sent it is told', async t => {
  const { done, questions, send } = openSends()
  send('a')
  questions[0]!.fail(new Error('the apiserver is away'))
  await settle()
  t.strictSame(done, ['unknown: the apiserver is away', 'lost: a'])
  send('b')
  questions[1]!.answer(false)
  await settle()
  t.equal(done.at(-1), 'b')
})

t.test('what throws, keeps none of the messages after it', async t => {
  const { done, questions, send, sends, state } = openSends()
  const fail = (): never => {
    throw new Error('thrown')
  }
  const next = async (answer: (question: (typeof questions)[number]) => void) => {
    answer(questions.shift()!)
    await settle()
    return done.splice(0)
  }
  send('first')
  sends.send(fail, fail)
  send('a')
  t.strictSame(await next(question => question.answer(false)), ['first'])
  t.strictSame(await next(question => question.answer(false)), ['bug: thrown', 'a'])
  send('second')
  sends.send(fail, fail)
  send('b')
  t.strictSame(await next(question => question.answer(false)), ['second'])
  const away = new Error('away')
  t.strictSame(await next(question => question.fail(away)), [
    ...['unknown: away', 'bug: thrown', 'lost: b'],
  ])
  state.isBroken = true
  send('c')
  await settle()
  t.strictSame(done.splice(0), ['unknown: no question', 'lost: c'])
  state.isBroken = false
  send('d')
  t.strictSame(await next(question => question.answer(false)), ['d'])
})

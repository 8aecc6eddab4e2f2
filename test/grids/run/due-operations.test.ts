// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { Decision, Operation } from '../../../grids/model/decide.js'
import { dueOperations } from '../../../grids/run/due-operations.js'
import { GridMemory } from '../../../grids/run/grid-memory.js'
import type { GridRecord } from '../../../grids/run/grid-record.js'
import { resultOf } from '../../../grids/run/result.js'
import { FakeClock } from '../../../testkit/fake-clock.js'

t.test('a child that becomes due while a pass leaves it out is tried again', async t => {
  const clock = new FakeClock()
  const memory = new GridMemory(clock, 'uid')
  const child = { kind: 'Deployment', name: 'web-a', unit: 'a', object: {} }
  const operation = { kind: 'apply', child } as unknown as Operation
  memory.refused(operation, { unit: 'a', reason: 'Refused', message: 'a quota' })
  await clock.advance(4_999.5)
  const decision = { operations: [operation], failures: [] } as unknown as Decision
  const record = { namespace: 'n' } as GridRecord
  const due = dueOperations(decision, { record, memory }, new Set())
  t.strictSame([due.operations, due.failures.length], [[], 1], 'it is left out')
  await clock.advance(1)
  const result = resultOf({
    batch: { unavailable: undefined, isWithheld: false, done: [], stale: 0 },
    written: { kind: 'done' },
    ...{ memory, decision, waitMs: due.waitMs, isSettled: true, now: 0 },
  })
  t.match(result, { kind: 'done', againMs: Number })
  t.equal(dueOperations(decision, { record, memory }, new Set()).operations.length, 1)
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { reconcileNode } from '../../../../agent/stages/write/node-writer.js'
import type { KubeApi } from '../../../../agent/ports/kube-api.js'
import type { WriteRecord } from '../../../../agent/results.js'
import { answerError } from '../../../../kube/client/status-error.js'
import { statusPatch, type NodePlan, type PatchOperation } from '../../../../plan/patch.js'
import { nodeView } from '../../fake-watches.js'

const bodyOf = (code: number, reason: string, message: string, details?: object) =>
  JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason,
    message,
    details,
  })

// In the words of kube-apiserver.
const FAILED_TEST = [
  422,
  'Invalid',
  'the server rejected our request due to an error in our request',
  {},
] as const
const STALE = [
  409,
  'Conflict',
  'Operation cannot be fulfilled on nodes "n1"',
  { name: 'n1', kind: 'nodes' },
] as const
const NO_MESSAGE = "ValidatingAdmissionPolicy 'x' with binding 'x' denied request: no"
const POLICY = [
  422,
  'Invalid',
  `nodes "n1" is forbidden: ${NO_MESSAGE}`,
  { name: 'n1', kind: 'nodes', causes: [{ message: NO_MESSAGE }] },
] as const
const WEBHOOK = [422, 'Invalid', 'admission webhook "x" denied the request: no'] as const
const INVALID = [
  422,
  'Invalid',
  'Node "n1" is invalid: spec.taints[0].key',
  { name: 'n1', kind: 'Node' },
] as const

const add: PatchOperation = { op: 'add', path: '/spec/taints', value: [] }
const guard: PatchOperation = { op: 'test', path: '/metadata/resourceVersion', value: '1' }
const taints = (...operations: PatchOperation[]): NodePlan => ({
  kind: 'taints',
  patch: { type: 'json', operations },
})
const STATUS = statusPatch({ resourceVersion: '1' }, {})
const TAINTS = taints(guard, add)

t.test('only what another writer caused is a conflict, and tried again at once', async t => {
  type Answer = readonly [code: number, reason: string, message: string, details?: object]
  type Row = readonly [
    claim: string,
    plan: NodePlan,
    answer: Answer,
    result: string,
    patches: number,
  ]
  const rows: readonly Row[] = [
    ['a stale status patch', STATUS, STALE, 'conflict', 4],
    ['a stale taint patch', TAINTS, STALE, 'conflict', 4],
    ['a failed test', TAINTS, FAILED_TEST, 'conflict', 4],
    ['no test, so it cannot have failed', taints(add), FAILED_TEST, 'refused', 1],
    ['a status patch tests nothing', STATUS, FAILED_TEST, 'refused', 1],
    ['a policy refuses the status', STATUS, POLICY, 'refused', 1],
    ['a policy refuses the taints', TAINTS, POLICY, 'refused', 1],
    ['a webhook refuses the status', STATUS, WEBHOOK, 'refused', 1],
    ['a webhook refuses the taints', TAINTS, WEBHOOK, 'refused', 1],
    ['the taints are not valid', TAINTS, INVALID, 'refused', 1],
  ]
  for (const [claim, plan, answer, result, patches] of rows) {
    const records: Omit<WriteRecord, 'at'>[] = []
    const refuse = (): Promise<never> =>
      Promise.reject(
        answerError('PATCH nodes n1', {
          ...{ status: answer[0], phrase: '', retryAfterMs: undefined },
          body: bodyOf(...answer),
        }),
      )
    const end = await reconcileNode(
      { node: 'n1', what: 'dead', plan: () => plan, isWanted: () => true },
      {
        kube: {
          getNode: () => Promise.resolve(nodeView('n1')),
          patchNode: refuse,
          patchNodeStatus: refuse,
        } as Partial<KubeApi> as KubeApi,
        signal: new AbortController().signal,
        record: write => records.push(write),
        judge: () => undefined,
      },
    )
    t.equal(end.result, result, claim)
    t.strictSame(
      records.map(record => record.result),
      Array(patches).fill(result),
      claim,
    )
  }
})

// SPDX-License-Identifier: Apache-2.0
// Objects whose writes the apiserver stamps with no time, so that policies refuse what agents write about them.
import t from 'tap'
import { never, rawNode, startPlain } from '../../../testkit/kube/built-kube.js'
import { answer, refusal } from '../../../testkit/http/scripted-server.js'

const NODE = '/api/v1/nodes/n1'
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1'
interface Written {
  readonly metadata: { readonly managedFields: readonly object[] }
}
const withoutStamps = answer(rawNode)
const stamped = answer({ metadata: { ...rawNode.metadata, managedFields: [{ manager: 'x' }] } })
const forbidden = refusal(403, 'Forbidden')

t.test('after a refusal what has no managedFields gets its first entry', async t => {
  const { api, server } = await startPlain(t)
  const patch = { type: 'merge', body: {} } as const
  const calls: readonly [() => Promise<unknown>, string, string][] = [
    [() => api.patchNode('n1', patch, never), NODE, 'v1'],
    [() => api.patchNodeStatus('n1', patch, never), NODE, 'v1'],
    [() => api.patchLease('n1', patch, never), LEASE, 'coordination.k8s.io/v1'],
  ]
  for (const [call, path, apiVersion] of calls) {
    server.script(forbidden, withoutStamps, withoutStamps)
    const before = server.asked.length
    const error = {
      status: 409,
      message: /no managedFields \(.*scripted 403.*\); a first entry was added/,
    }
    await t.rejects(call(), error, 'to be tried again')
    const [, read, written] = server.asked.slice(before)
    t.match(
      [read, written],
      [
        { method: 'GET', path },
        { method: 'PATCH', path },
      ],
    )
    t.match(read!.headers, { accept: /as=PartialObjectMetadata/ })
    const { metadata } = JSON.parse(written!.body) as Written
    t.match(metadata, {
      resourceVersion: '7',
      managedFields: [{ manager: 'edge-health-agent', operation: 'Update', apiVersion }],
    })
    t.notOk('time' in metadata.managedFields[0]!)
  }
})

t.test('else it stays refused', async t => {
  const { api, server } = await startPlain(t)
  const patch = { type: 'merge', body: {} } as const
  const rows = [
    ['what has entries', 403, 2, [forbidden, stamped]],
    ['what cannot be read', 403, 2, [forbidden, refusal(500, 'x')]],
    ['what may not be given any', 403, 3, [forbidden, withoutStamps, forbidden]],
    ['a test that failed', 422, 1, [refusal(422, 'Invalid')]],
    ['a conflict', 409, 1, [refusal(409, 'Conflict')]],
  ] as const
  for (const [what, status, requests, steps] of rows) {
    server.script(...steps)
    const before = server.asked.length
    await t.rejects(api.patchNode('n1', patch, never), { status, message: /scripted/ }, what)
    t.equal(server.asked.length - before, requests, what)
  }
})

t.test('what is not wanted any more is not begun', async t => {
  const { api, server } = await startPlain(t)
  let asked = 0
  const guard = (): string | undefined => (asked++ === 0 ? undefined : 'over')
  server.script(forbidden, withoutStamps)
  const patch = { type: 'merge', body: {} } as const
  await t.rejects(api.patchNodeStatus('n1', patch, never, guard), {
    status: 403,
    message: /scripted/,
  })
  t.strictSame(
    server.asked.map(({ method }) => method),
    ['PATCH', 'GET'],
  )
})

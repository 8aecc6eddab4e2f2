// SPDX-License-Identifier: Apache-2.0
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { AuditLog, WriteTallies } from '../audit.js'
import type { Answered, Sent } from './bed.js'
import { type Ask, BITING, whoIsFree } from './bite.js'
import { rowsOf } from './policies.js'
import type { Row } from './rows.js'

/** The policy that refuses a write of the bite, by what it is about. */
const policyOf = ({ path }: Sent): string =>
  `edge-health-${path.includes('nodes') ? 'agent-nodes' : path.includes('leases') ? 'agent-leases' : path.includes('events') ? 'agent-events' : 'wrapper-writes'}` // prettier-ignore

const refusal = (policy: string): Answered => ({
  status: 403,
  message: `ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: no`,
})

t.test('each policy is tried by a dry run of its own, on the node of the token', async t => {
  const seen: Sent[] = []
  const ask: Ask = async (_, sent) => {
    seen.push(sent)
    return refusal(policyOf(sent))
  }
  t.strictSame(await whoIsFree(ask, 'n1'), [])
  t.strictSame(seen.map(policyOf), BITING)
  t.ok(seen.every(({ path }) => path.endsWith('dryRun=All')))
  t.match(seen[1]!.path, '/leases/n1?')
})

t.test('who is let through, or refused by somebody else, is free', async t => {
  for (const policy of BITING) {
    const others: readonly Answered[] = [
      { status: 201, message: '' },
      { status: 403, message: 'User "x" cannot patch resource "x"' },
      refusal('edge-health-agent-others'),
      refusal('shop-edge-health'),
    ]
    for (const other of others) {
      const ask: Ask = async (_, sent) => {
        const own = policyOf(sent)
        return own === policy ? other : refusal(own)
      }
      const free = await whoIsFree(ask, 'n1')
      t.equal(free.length, 1)
      t.match(free[0], `in spite of ${policy}: ${other.status}`)
    }
  }
})

t.test('the audit log tells a dry run from a write, and counts it as tried', async t => {
  const path = join(t.testdir(), 'audit.log')
  const line = (verb: string, query: string, code: number): string =>
    JSON.stringify({
      ...{ verb, requestURI: `/apis/coordination.k8s.io/v1/x/leases/n1?${query}` },
      ...{ requestReceivedTimestamp: '2026-01-01T00:00:00Z', responseStatus: { code } },
      ...{ user: { username: 'system:serviceaccount:edge-system:edge-health-agent' } },
      ...{ objectRef: { resource: 'leases', name: 'n1' }, requestObject: { spec: {} } },
    })
  const lines = [line('patch', 'fieldManager=x', 200), line('patch', 'a=b&dryRun=All', 403)]
  await writeFile(path, `${lines.join('\n')}\n`)
  const log = new AuditLog(path)
  const all = await log.next()
  await log.close()
  t.strictSame(
    all.map(({ verb }) => verb),
    ['patch', 'try patch'],
  )
  const tallies = new WriteTallies()
  for (const one of all) tallies.add(one)
  t.match(tallies.all, [{ made: 1, refused: 0, tried: 1, letThrough: 0 }])
})

t.test('a policy is shown by rows of its own account, what it refuses first', async t => {
  const row = (what: string, refusedBy: Row['refusedBy'], by?: Row['by']): Row => ({
    ...{ what, refusedBy, sends: () => [] },
    ...(by === undefined ? {} : { by }),
  })
  const rows = [
    row('1', 'nobody'),
    row('2', 'rights'),
    row('3', 'agent-nodes'),
    row('4', 'agent-leases'),
    row('5', 'agent-nodes', 'agent, unbound'),
    row('6', 'nobody', 'bridge'),
    row('7', 'bridge-writes', 'bridge'),
  ]
  const shown = (policy: string) => rowsOf(policy, rows).map(({ what }) => what)
  t.strictSame(shown('edge-health-agent-nodes'), ['3', '5', '1'])
  t.strictSame(shown('edge-health-bridge-writes'), ['7', '6'])
  t.strictSame(shown('edge-health-webhook-writes'), [])
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { KubeStatusError, KubeUnreachableError } from '../../../core/errors.js'
import { decideGrid } from '../../../grids/model/decide.js'
import { DryRunner } from '../../../grids/run/dry-run.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { deploymentGrid, planOne, sites, template } from '../../../testkit/kube/grid-objects.js'

const refusal = (status: number): KubeStatusError =>
  new KubeStatusError('PATCH /x', { status, reason: '', message: `says ${status}` })

/** A server that answers each dry run so; and the names that it was asked about. */
const serverOf = (answer: () => Promise<unknown>) => {
  const asked: string[] = []
  const apply = (
    _type: unknown,
    { name }: { name: string },
    { isDryRun }: { isDryRun: boolean },
  ) => {
    asked.push(isDryRun ? name : `${name} for real`)
    return answer()
  }
  const client = { apply } as unknown as ResourceClient
  return { asked, runner: new DryRunner(client, new FakeClock()) }
}

const decisionOf = (grid: Parameters<typeof planOne>[0]) =>
  decideGrid({ plan: planOne(grid, sites('a', 'b', 'c')), lives: [], now: 0, graceMs: 0 })
const canary = decisionOf(
  deploymentGrid('web', { templatePool: { next: template('nginx:2') }, templates: { b: 'next' } }),
)
const { signal } = new AbortController()

t.test('what the apiserver says of a plan', async t => {
  const taken = { resourceVersion: '', managers: ['edge-health-grids'], uid: 'u' }
  const rows: [
    what: string,
    answer: () => Promise<unknown>,
    refusals: number,
    unchecked?: RegExp,
  ][] = [
    ['takes it', () => Promise.resolve(taken), 0],
    ['refuses it', () => Promise.reject(refusal(422)), 2],
    ['does not let this user write', () => Promise.reject(refusal(403)), 0, /says 403/],
    ['has a webhook that takes no dry runs', () => Promise.reject(refusal(400)), 0, /says 400/],
    ['fails', () => Promise.reject(refusal(500)), 0, /says 500/],
    ['is away', () => Promise.reject(new KubeUnreachableError('PATCH /x', 'away')), 0, /away/],
  ]
  for (const [what, answer, refusals, unchecked] of rows) {
    const { asked, runner } = serverOf(answer)
    const verdict = await runner.verdictOn(canary, signal)
    t.strictSame(asked, ['web-a', 'web-b'], `${what}: one question about each template`)
    t.equal(verdict.refusals.length, refusals, what)
    if (unchecked === undefined) t.equal(verdict.unchecked, undefined, what)
    else t.match(verdict.unchecked, unchecked, what)
  }
})

// SPDX-License-Identifier: Apache-2.0
// Lists of a zone that is polled, where the apiserver answers some of them alone.
import t from 'tap'
import { ApiBackoff } from '../../../../agent/api-backoff.js'
import type { MemberList } from '../../../../agent/ports/kube-api.js'
import { MembersWatch } from '../../../../agent/stages/node-list/members-watch.js'
import { KubeStatusError } from '../../../../core/errors.js'
import { KnownVersion } from '../../../../kube/client/known-version.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'
import { FakeWatches, nodeView } from '../../fake-watches.js'

const MINUTE_MS = 60_000
const named = (count: number) => Array.from({ length: count }, (_, i) => nodeView(`n${i + 1}`))

/** Eight members, of which five would be watched. @param wider a selector of nodes that are only displayed */
const start = async (wider: string | undefined, refuses: (selector: string) => boolean) => {
  const kube = new FakeWatches()
  const { listMembers } = kube
  kube.listMembers = async (selector, known): Promise<MemberList> => {
    if (refuses(selector)) throw new KubeStatusError('nodes', { status: 403, reason: 'Forbidden', message: 'no', isFromApi: true }) // prettier-ignore
    return listMembers(selector, known)
  }
  const [clock, random, log] = [new FakeClock(), seededRandom(1), recordingLog()]
  const watch = new MembersWatch(
    { selector: 's', wider, watchUpTo: 5, pollMs: 5 * MINUTE_MS },
    {
      ...{ kube, clock, random, log, known: new KnownVersion(), onChange: () => changes++ },
      apiBackoff: new ApiBackoff({ clock, random }),
    },
  )
  let changes = 0
  await kube.showNodes('s', named(8))
  return { kube, clock, log, watch, changes: () => changes }
}

t.test('a list that is only displayed does not hold up the one of the members', async t => {
  const { kube, clock, watch, changes } = await start('w', selector => selector === 'w')
  t.equal(watch.members?.size, 8)
  const before = changes()
  kube.lists.set('s', named(6))
  await clock.advance(6 * MINUTE_MS)
  t.equal(watch.members?.size, 6)
  t.ok(changes() > before)
  t.strictSame(watch.elsewhere, [])
  await watch.stop()
})

t.test('that a zone is not listed is said once, until it is', async t => {
  let isRefusing = true
  const { kube, clock, log, watch } = await start(undefined, () => isRefusing)
  kube.lists.set('s', named(8))
  const said = () =>
    log.lines.filter(({ message }) => message === 'listing the zone’s Nodes failed, will retry')
  await clock.advance(10 * MINUTE_MS)
  t.match(said()[0], { level: 'warn', fields: { error: /403 Forbidden: no/ } })
  t.ok(said().length > 3)
  t.ok(said().slice(1).every(({ level }) => level === 'debug')) // prettier-ignore
  isRefusing = false
  await clock.advance(10 * MINUTE_MS)
  isRefusing = true
  const { length } = said()
  await clock.advance(10 * MINUTE_MS)
  t.match(said()[length], { level: 'warn' })
  await watch.stop()
})

t.test(
  'reports that say nothing new leave the map of members as it is; others make a new one',
  async t => {
    const { kube, watch, changes } = await start(undefined, () => false)
    const { sink } = kube.members.findLast(({ isOpen }) => isOpen)!
    const [first] = named(1)
    const before = watch.members
    const seen = changes()
    sink.upsert({ name: first!.name, address: first!.internalIPs[0] })
    t.equal(watch.members, before)
    t.equal(changes(), seen)
    sink.upsert({ name: first!.name, address: '10.9.9.9' })
    const moved = watch.members
    t.equal(moved?.get('n1')?.address, '10.9.9.9')
    t.equal(before?.get('n1')?.address, '10.0.0.1', 'who holds the earlier one sees no change')
    sink.remove('n1')
    t.notOk(watch.members?.has('n1'))
    t.ok(moved?.has('n1'))
    t.equal(changes(), seen + 2)
    await watch.stop()
  },
)

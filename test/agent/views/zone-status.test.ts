// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { statusText } from '../../../agent/text/status-text.js'
import { keyFindings } from '../../../cli/doctor-zone.js'
import { plain } from '../../../core/text.js'
import { World } from '../../../testkit/zone/world.js'

t.test('a disk that keeps nothing is shown, and the agent judges on', async t => {
  const world = new World(3)
  t.teardown(() => world.stop())
  const { diskTroubles } = world.machine(0)
  await world.settled()
  const { views } = world.machine(0).agent!
  const troubles = () =>
    statusText(views.status(), plain)
      .split('\n')
      .filter(line => line.startsWith('! '))
  t.strictSame(troubles(), [])
  diskTroubles.set('heartbeat', 'ENOSPC: no space left').set('keys.json', 'ENOSPC: no space left')
  t.strictSame(troubles(), [
    '! after a restart this agent would lack what /memory cannot keep: heartbeat, keys.json: ENOSPC: no space left',
  ])
  t.match(views.zone().disk, { path: '/memory', trouble: /^heartbeat, keys\.json: ENOSPC/ })
  t.ok(views.readiness().isReady)
  world.crash(2)
  t.ok((await world.until(() => world.allSee(2), 60_000)) !== undefined, 'it judges')
})

t.test('who missed a change of the key sees that its peers refuse it', async t => {
  const world = new World(3)
  t.teardown(() => world.stop())
  await world.settled()
  const findingOf = (index: number) => {
    const value = world.machine(index).agent!.views.status()
    const where = { namespace: 'edge-system', keySecret: 'edge-health-keys' }
    return keyFindings({ agent: { ok: true, value }, ...where })[0]!
  }
  t.equal(findingOf(0).level, 'ok')
  world.cutCloud(0)
  await world.run(20_000)
  world.cluster.put('secret', 'edge-health-keys', {
    data: { primary: 'the next key of the world' },
  })
  await world.run(90_000)
  const own = findingOf(0)
  t.match(own, { level: 'fail', saw: /shared by 1 of 3 members, and signatures are refused; not shared by n1, n2$/ }) // prettier-ignore
  t.match(own.fix, /^compare with the key set that doctor shows on n1, .* kubectl -n edge-system get secret edge-health-keys .*\/memory\/keys\.json$/) // prettier-ignore
  t.match(findingOf(1), { level: 'fail', saw: /shared by 2 of 3 members, .*; not shared by n0$/ })
})

t.test('a first boot without the cloud: what is waited for', async t => {
  const world = new World(2)
  t.teardown(() => world.stop())
  world.cutCloud(0)
  world.bootAll()
  await world.run(20_000)
  const text = statusText(world.machine(0).agent!.views.status(), plain)
  t.match(text, /\n! the roster is not known yet: waiting for the API\n/)
})

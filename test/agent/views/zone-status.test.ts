// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { statusText } from '../../../agent/text/status-text.js'
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

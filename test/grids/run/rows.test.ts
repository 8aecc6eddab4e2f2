// SPDX-License-Identifier: Apache-2.0
// Every row of what SuperEdge's controller was seen to do, on the embedded API; "npm run lab -- grid-rows" has a real one.
import t from 'tap'
import { systemClock } from '../../../core/clock.js'
import { startGarbageCollector } from '../../../sandbox/garbage-collector.js'
import { startGridApi } from '../../../testkit/kube/grid-api.js'
import { gridRows, playGridRow } from '../../../testkit/kube/grid-rows.js'
import { GridStage } from '../../../testkit/kube/grid-stage.js'

t.setTimeout(170_000)

t.test('what is done to grids', async t => {
  const { api, server } = await startGridApi(t)
  const collector = startGarbageCollector(api.store, systemClock)
  t.teardown(() => collector.stop())
  for (const [index, [section, row]] of gridRows.entries())
    t.strictSame(
      await playGridRow(new GridStage(server, `r${index}`), row),
      [],
      `${section}: ${row.done}: ${row.ours}`,
    )
})

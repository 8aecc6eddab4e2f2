// SPDX-License-Identifier: Apache-2.0
import type { Test } from 'tap'
import { CoreZone, type CoreZoneOptions } from '../../testkit/zone/core-zone.js'

const SETTLE_MS = 15_000

/**
 * Play something in a zone of agents without HTTP and Kubernetes, and show that nothing happened on the way that must
 * never happen, and that no timer is left behind.
 */
export const coreScenario = async (
  t: Test,
  zone: CoreZoneOptions & { readonly what: string; readonly size: number },
  play: (zone: CoreZone) => Promise<void>,
): Promise<void> => {
  const { what, size } = zone
  const core = new CoreZone(size, zone)
  core.bootAll()
  await core.run(SETTLE_MS)
  await play(core)
  await core.stop()
  t.strictSame(core.observer.broken, [], `${what}: nothing that must never happen`)
  t.equal(core.clock.waiting, 0, `${what}: no timer is left`)
}

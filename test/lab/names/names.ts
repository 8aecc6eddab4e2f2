// SPDX-License-Identifier: Apache-2.0
// Whether the names of our objects keep them apart from SuperEdge's, and the move from those of earlier versions.
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { runBeside } from './beside.js'
import { Claims } from './claims.js'
import { runMove } from './move.js'
import { runSideBySide } from './side-by-side.js'
import { FakeNodes } from './fake-nodes.js'

/** @returns whether all of it holds. */
export const runNames = async (
  plane: ControlPlane,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<boolean> => {
  const claims = new Claims(say)
  await runSideBySide(plane, claims)
  plane.runControllers(['daemonset-controller', 'garbage-collector-controller'])
  const cluster = new FakeNodes(plane.admin, signal)
  await cluster.createNodes()
  const playing = cluster.run()
  try {
    await runMove({ plane, cluster, claims, signal })
    await runBeside({ plane, cluster, claims, signal })
  } finally {
    cluster.stop()
    await playing
  }
  say(`${claims.passed} passed, ${claims.failed} failed`)
  return claims.failed === 0
}

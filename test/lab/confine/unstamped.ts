// SPDX-License-Identifier: Apache-2.0
// What agents' own client makes of Nodes and Leases whose writes the apiserver does not stamp.
import { KubeStatusError, reasonOf } from '../../../core/errors.js'
import { agentClient } from './own-check.js'
import { iso, micro, peerHealth } from './requests.js'
import type { Scene } from './scene.js'

const CONFLICT = 409

/** Each is refused once, begins its managedFields, and is written then. */
export const playUnstamped = async ({ plane, bed, table, say, signal }: Scene): Promise<void> => {
  say('of a Node and a Lease without managedFields, by the agents’ own client:')
  const node = await bed.anyNode('unstamped')
  const kube = agentClient(plane, bed)
  const conditions = peerHealth(Date.now(), 'False', 'PeersCannotReach')
  const metadata = { annotations: { nodeunhealth: 'yes', 'edge-health/reason': iso(Date.now()) } }
  const mark = { type: 'strategic-merge', body: { metadata, status: { conditions } } } as const
  const renewal = { type: 'merge', body: { spec: { renewTime: micro(Date.now()) } } } as const
  const writes = [
    ['it is marked dead', () => kube.patchNodeStatus(node, mark, signal)],
    ['its Lease is renewed', () => kube.patchLease(node, renewal, signal)],
  ] as const
  for (const [what, write] of writes) {
    const first: unknown = await write().then(() => undefined, (error: unknown) => error) // prettier-ignore
    const isBegun = first instanceof KubeStatusError && first.status === CONFLICT
    const second: unknown = await write().then(() => undefined, (error: unknown) => error) // prettier-ignore
    if (isBegun && second === undefined) say(`  ok     ${what} at the second try`)
    else table.failed(`${what}: first ${reasonOf(first)}; then ${reasonOf(second)}`)
  }
  await kube.close()
}

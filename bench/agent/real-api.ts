// SPDX-License-Identifier: Apache-2.0
// A real apiserver for the agent, with deploy/base applied and a token as its kubelet would mount it: bytes over TLS depend
// on all of it.
import type { FixedAccess } from '../../kube/client/fixed-credentials.js'
import { createZoneObjects } from '../../sandbox/zone-objects.js'
import { API_PORT } from '../../testkit/control-plane/flags.js'
import { createAgentPod, daemonTemplate } from '../../testkit/deploy/agent-pod.js'
import { openPlane } from '../grids/plane.js'
import type { PodAccount } from './agent-process.js'

/** The agent's apiserver. */
export interface RealApi {
  /** For the world, which is the administrator. */
  readonly access: FixedAccess
  /** The account of the agent's Pod on a node, by the address that it alone uses. */
  accountOf(node: string): Promise<PodAccount>
  stop(): Promise<void>
}

const never = new AbortController().signal

/**
 * @param address of loopback, by which the agent alone asks
 * @param key of the zone
 * @throws MissingError where its programs are neither there nor can be built
 */
export const openRealApi = async (
  address: string,
  key: string,
  say: (line: string) => void,
): Promise<RealApi> => {
  const opened = await openPlane(say, [address])
  const { plane } = opened
  try {
    await createZoneObjects(plane.admin, key, never)
    await plane.kubectl(['apply', '-k', 'deploy/base'])
  } catch (error) {
    await opened.stop()
    throw error
  }
  return {
    access: { server: plane.url, token: plane.adminToken, ca: plane.ca },
    accountOf: async node => {
      const template = await daemonTemplate(plane.admin, never)
      const token = await createAgentPod(plane.admin, node, template, never)
      return { host: address, port: API_PORT, token, ca: plane.ca }
    },
    stop: () => opened.stop(),
  }
}

// SPDX-License-Identifier: Apache-2.0
// A real apiserver for the agent, with deploy/base applied and a token as its kubelet would mount it: bytes over TLS depend
// on all of it.
import type { FixedAccess } from '../../kube/client/fixed-credentials.js'
import { createZoneObjects } from '../../sandbox/zone-objects.js'
import { API_PORT } from '../../testkit/control-plane/flags.js'
import { kubeconfig } from '../../testkit/control-plane/kubeconfig.js'
import { createAgentPod, daemonTemplate } from '../../testkit/deploy/agent-pod.js'
import { openPlane } from '../grids/plane.js'

/** The agent's apiserver. */
export interface RealApi {
  /** For the world, which is the administrator. */
  readonly access: FixedAccess
  /** The kubeconfig of the agent's Pod on a node, by the address that it alone uses. */
  kubeconfigOf(node: string): Promise<string>
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
    kubeconfigOf: async node => {
      const template = await daemonTemplate(plane.admin, never)
      const token = await createAgentPod(plane.admin, node, template, never)
      return kubeconfig(`https://${address}:${API_PORT}`, plane.ca, { token })
    },
    stop: () => opened.stop(),
  }
}

// SPDX-License-Identifier: Apache-2.0
import { resultOfError, SUCCESS } from './outcome.js'
import type { PluginKind } from './seams.js'

/** A TCP connection that is opened and given up at once. By default to the kubelet's port, which each node has. */
export const ping: PluginKind = {
  name: 'ping',
  keys: ['port'],
  defaultPort: 10250,
  reachesNode: true,
  make: ({ name, weight, port }, { dial }) => ({
    name,
    weight,
    probe: async (target, { signal }) => {
      try {
        await dial.connect(target.address, port, signal)
        return SUCCESS
      } catch (error) {
        return resultOfError(error, signal)
      }
    },
  }),
}

// SPDX-License-Identifier: Apache-2.0
import { bracketed } from './address.js'
import { aliveUnless5xx, askHttp } from './http-probe.js'
import type { PluginKind } from './seams.js'

/** The kubelet's plain health page. It listens on 127.0.0.1 unless `healthzBindAddress` of the kubelet says otherwise. */
export const kubelet: PluginKind = {
  name: 'kubelet',
  keys: ['port'],
  defaultPort: 10248,
  reachesNode: true,
  make: ({ name, weight, port }, { http }) => ({
    name,
    weight,
    probe: (target, { signal, reuse }) =>
      askHttp(
        http,
        { url: `http://${bracketed(target.address)}:${port}/healthz`, reuse, signal },
        aliveUnless5xx,
      ),
  }),
}

// SPDX-License-Identifier: Apache-2.0
import { bracketed } from './address.js'
import { aliveUnless5xx, askHttp } from './http-probe.js'
import { unusable } from './outcome.js'
import type { PluginKind } from './seams.js'
import { INSECURE, refuseTokenUnverified, TrustReader } from './trust.js'

/**
 * The kubelet's authenticated port. Without a token it answers 401, which is enough: it is alive. So no token is
 * sent unless the operator names one, and then only over verified TLS. Without a token and without a CA the
 * certificate is not verified: nothing secret is sent, and kubelets usually sign their own.
 */
export const kubeletauth: PluginKind = {
  name: 'kubeletauth',
  keys: ['port', 'ca', 'token-file'],
  defaultPort: 10250,
  reachesNode: true,
  check: refuseTokenUnverified,
  make: (spec, { http, readFile }) => {
    const sendsNothing = spec.ca === undefined && spec.tokenFile === undefined
    const files = sendsNothing ? { ca: INSECURE } : spec
    const reader = new TrustReader(files, readFile)
    return {
      name: spec.name,
      weight: spec.weight,
      probe: async (target, { signal, reuse }) => {
        const trust = await reader.read(signal)
        if (!trust.ok) return unusable(trust.reason)
        const url = `https://${bracketed(target.address)}:${spec.port}/healthz`
        return askHttp(http, { url, ...trust.parts, reuse, signal }, aliveUnless5xx)
      },
    }
  },
}

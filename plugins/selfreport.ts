// SPDX-License-Identifier: Apache-2.0
import type { ProbeResult } from '../core/check.js'
import { failure, SUCCESS, unknown } from './outcome.js'
import type { PluginKind, SelfReport } from './seams.js'

const RESULTS: Readonly<Record<SelfReport, ProbeResult>> = Object.freeze({
  well: SUCCESS,
  bad: failure('its own agent says that its kubelet is bad'),
  unknown: unknown('its agent says nothing of its kubelet'),
})

/** What the node itself says about its kubelet, from the exchange. No packet is sent. */
export const selfreport: PluginKind = {
  name: 'selfreport',
  keys: [],
  defaultPort: 0,
  reachesNode: false,
  make: ({ name, weight }, { selfReport }) => ({
    name,
    weight,
    probe: target => Promise.resolve(RESULTS[selfReport(target.name)]),
  }),
}

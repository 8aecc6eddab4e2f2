// SPDX-License-Identifier: Apache-2.0
import { sleep } from '../../../core/clock.js'
import type { Downstream, DownstreamSeams } from '../ports.js'

/** Tells edges nothing: until there are watches, an edge registers and reports, and is given no pods. */
export const makeDownstream = ({ clock }: DownstreamSeams): Downstream => ({
  informers: {},
  hasNode: () => false,
  connected: () => undefined,
  acknowledged: () => undefined,
  ended: () => undefined,
  answering: () => undefined,
  leaseSeen: () => undefined,
  lead: async term => {
    await sleep(clock, Infinity, term)
  },
  status: {},
  metrics: [],
  explain: () => ({}),
})

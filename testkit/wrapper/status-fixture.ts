// SPDX-License-Identifier: Apache-2.0
import type { WrapperStatusView } from '../../wrapper/status/status-view.js'

/** A wrapper that has just about every trouble. */
export const wrapperStatusFixture: WrapperStatusView = {
  ...{
    version: '1.2.3',
    at: '2026-01-01T00:00:00.000Z',
    uptimeSeconds: 1.5,
    nodeTrouble: null,
    apiserverTrouble: null,
    node: 'a',
  },
  ready: { isReady: false, reason: 'not known yet: nodes' },
  resources: [
    {
      ...{ resource: 'nodes', source: 'none', objects: 0, isStale: false, ageSeconds: null },
      ...{ lists: 0, watchers: 2, trouble: 'a "quoted"\nline \\' },
    },
    {
      ...{ resource: 'services', source: 'disk', objects: 7, isStale: true, ageSeconds: 60 },
      ...{ lists: 3, watchers: 0, trouble: null },
    },
  ],
  neighbours: [],
  health: {
    ...{ state: 'expired', source: 'push', ageSeconds: 400, nodes: 3, dead: ['b', 'c'] },
    ...{ connects: 2, trouble: 'gone' },
  },
  malformed: ['default/odd'],
  requests: { gets: 1, lists: 2, watches: 3, refused: 4, passed: 5, upgraded: 6, unreachable: 7 },
  watchEvents: { written: 11, encoded: 12, overtaken: 13, failed: 14 },
  events: { waiting: 21, bytes: 22, accepted: 23, sent: 24, dropped: 25, refused: 26 },
  connectionsEvicted: { clients: 8, status: 0 },
  disk: { writes: 31, trouble: 'nodes: ENOSPC' },
}

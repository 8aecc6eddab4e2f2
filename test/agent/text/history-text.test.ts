// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { HistoryEntry } from '../../../agent/history/ring.js'
import { historyText } from '../../../agent/text/history-text.js'

t.test('each kind of entry in one sentence', t => {
  const row = (change: Partial<HistoryEntry> & Pick<HistoryEntry, 'kind' | 'to'>): HistoryEntry => {
    const nodes = change.nodes ?? []
    return { id: 1, at: 0, count: nodes.length, from: null, note: '', ...change, nodes }
  }
  const five = { nodes: ['a', 'b', 'c', 'd'], count: 500 }
  const rows: [HistoryEntry, string][] = [
    [row({ kind: 'class', nodes: ['a'], from: 'healthy', to: 'dead', note: '3 say down, 0 up' }), 'a is dead, was healthy (3 say down, 0 up)'],
    [row({ kind: 'class', ...five, from: 'healthy', to: 'zone-link-cut' }), '500 nodes (a, b, c and 497 more) are zone cut, were healthy'],
    [row({ kind: 'class', nodes: ['a', 'b'], to: 'undecided' }), '2 nodes (a, b) are undecided'],
    [row({ kind: 'agent', to: 'started', note: 'version 1' }), 'this agent started (version 1)'],
    [row({ kind: 'voice', to: 'minority' }), 'this agent hears no majority of the zone and decides nothing'],
    [row({ kind: 'brake', to: 'off' }), 'the brake is off'],
    [row({ kind: 'cloud-link', to: 'cut' }), 'this node does not reach the apiserver'],
    [row({ kind: 'cloud-link', to: 'up' }), 'this node reaches the apiserver again'],
    [row({ kind: 'members', nodes: ['a'], to: 'left' }), 'a left the zone'],
    [row({ kind: 'vouch', nodes: ['a'], to: 'active' }), 'a is vouched for by its peers'],
    [row({ kind: 'vouch', nodes: ['a'], to: 'ended' }), 'a is vouched for no more'],
    [row({ kind: 'write', nodes: ['a'], to: 'refused', note: 'status: dead: 403' }), 'write about a refused (status: dead: 403)'],
    [row({ kind: 'agent', to: 'of a newer version' }), 'of a newer version'],
  ] // prettier-ignore
  for (const [entry, want] of rows) t.equal(historyText(entry), want)
  t.end()
})

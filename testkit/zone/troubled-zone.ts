// SPDX-License-Identifier: Apache-2.0
// A zone in trouble, of any size, for tests and pictures of the page.
import type { HistoryEntryView } from '../../agent/http/history-view.js'
import type { MatrixView } from '../../agent/http/matrix-view.js'
import type { NodeStatus, StatusView } from '../../agent/http/status-view.js'
import { makeLocalApp } from '../../agent/http/local-routes.js'
import { systemClock, type Clock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import type { Listener } from '../../net/listen.js'
import { openListener } from '../http/open-listener.js'
import { FakeViews, nodeFixture, zoneFixture } from './status-fixture.js'

const ago = (seconds: number): string => new Date(Date.now() - seconds * 1_000).toISOString()

/** In a zone of `size` the last two are dead, the third last is cut off, and of the fourth last somebody says down. */
const changeOf = (number: number, size: number): Partial<NodeStatus> => {
  const half = Math.floor(size / 2)
  if (number > size - 2)
    return {
      ...{ verdict: 'unhealthy', class: 'dead', since: ago(number === size ? 95 : 1_500) },
      ...{ local: 'down', recordAgeSeconds: 101, kubelet: 'unknown' },
      votes: { down: size - 2, up: 0, notLooked: 0, needed: half + 1 },
      lastWrite: { at: ago(80), by: 'node-1', what: 'status: dead', result: 'done' },
    }
  if (number === size - 2)
    return {
      ...{ class: 'cloud-link-cut', since: ago(700), cloudCutSince: ago(720) },
      vouch: { state: 'active', since: ago(690), by: 'node-1', reason: 'its Lease is renewed' },
    }
  if (number === size - 3)
    return { votes: { down: 1, up: size - 2, notLooked: 0, needed: half + 1 }, local: 'down' }
  return {}
}

export const troubledZone = (size: number): StatusView => ({
  ...zoneFixture({ at: new Date().toISOString() }),
  zone: { name: 'shop-17', members: size, rule: 'zone label', trouble: null },
  cloudLink: { state: 'up', since: ago(90_000) },
  brake: { isOn: false, unhealthy: 2, limit: Math.ceil(size / 2) },
  nodes: Array.from({ length: size }, (_, i) => {
    const name = i + 1 === 1 ? 'node-1' : `node-${String(i + 1).padStart(String(size).length, '0')}`
    return { ...nodeFixture(i + 1), name, ...changeOf(i + 1, size) }
  }),
})

const matrixFor = ({ nodes }: StatusView): MatrixView => {
  const members = nodes.length
  const isPartial = members > 64
  const troubled = nodes.slice(-4).reverse()
  const shown = isPartial ? troubled : [...troubled, ...nodes.slice(0, -4)]
  const voters = nodes.slice(0, 64)
  const dead = new Set(nodes.slice(-2).map(({ name }) => name))
  return {
    ...{ at: new Date().toISOString(), members, isPartial },
    targets: shown.map(({ name }) => name),
    roundTripSeconds: shown.map(({ name }, i) => (dead.has(name) ? null : 0.002 + (i % 7) / 50)),
    voters: voters.map(({ name }, row) => ({
      name,
      ageSeconds: dead.has(name) ? 101 : row % 30,
      why: dead.has(name) ? 'too old' : null,
      says: shown
        .map(target => {
          if (target.name === name) return '-'
          if (dead.has(target.name) && !dead.has(name)) return 'd'
          return target === troubled[3] && row === 0 ? 'd' : row === 3 ? 'n' : 'u'
        })
        .join(''),
    })),
  }
}

const historyFor = ({ nodes }: StatusView): HistoryEntryView[] => {
  const [first, second, cut] = [nodes.at(-2)!.name, nodes.at(-1)!.name, nodes.at(-3)!.name]
  const rows: [
    number,
    Partial<HistoryEntryView> & Pick<HistoryEntryView, 'kind' | 'to' | 'text'>,
  ][] = [
    [3_000, { kind: 'agent', to: 'stopped', text: 'this agent stopped' }],
    [2_940, { kind: 'agent', to: 'started', text: 'this agent started (version 0.1.0)' }],
    [1_500, { kind: 'class', nodes: [first], from: 'healthy', to: 'dead', text: `${first} is dead, was healthy` }], // prettier-ignore
    [1_495, { kind: 'write', nodes: [first], to: 'done', text: `write about ${first} done` }],
    [700, { kind: 'class', nodes: [cut], from: 'healthy', to: 'cloud-link-cut', text: `${cut} is cut, was healthy` }], // prettier-ignore
    [690, { kind: 'vouch', nodes: [cut], to: 'active', text: `${cut} is vouched for by its peers` }], // prettier-ignore
    [95, { kind: 'class', nodes: [second], from: 'healthy', to: 'dead', text: `${second} is dead, was healthy` }], // prettier-ignore
  ]
  return rows.map(([seconds, entry], index) => ({
    ...{ id: index + 1, at: ago(seconds), nodes: [], from: null },
    ...entry,
    count: entry.nodes?.length ?? 0,
  }))
}

/**
 * An agent's own listener that shows such a zone, on a free port of loopback.
 * @param clock of its streams
 */
export const serveZone = async (
  size: number,
  clock: Clock = systemClock,
): Promise<{ views: FakeViews; listener: Listener }> => {
  const views = new FakeViews()
  views.view = troubledZone(size)
  views.votes = matrixFor(views.view)
  views.entries = historyFor(views.view)
  views.details = views.view.nodes.map(node => ({
    ...node,
    voters: [],
    keyFingerprint: null,
    identity: null,
  }))
  const app = makeLocalApp({
    ...{ views, localinfoTime: 'zero', metricsNodes: 'all', namespace: 'edge-system' },
    ...{ clock, log: silentLog },
  })
  return { views, listener: await openListener(app) }
}

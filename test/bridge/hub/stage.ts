// SPDX-License-Identifier: Apache-2.0
import type { Test } from 'tap'
import { WebSocket } from 'ws'
import type { EndReason } from '../../../bridge/hub/session.js'
import { HUB_LIMITS, type HubLimits } from '../../../bridge/hub/hub-options.js'
import { openHub } from '../../../bridge/hub/hub.js'
import type { NodeLink } from '../../../bridge/hub/node-link.js'
import type { Message } from '../../../bridge/model/message/message.js'
import type { Upstream } from '../../../bridge/model/route/upstream.js'
import type { Clock } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import {
  makeAuthority,
  makeNodePair,
  makeServerPair,
  type NodePairOptions,
  type Pair,
} from '../../../testkit/edge/certificates.js'
import { encodeFrame, makeFrame, type Route } from '../../../testkit/edge/frame.js'
import { dialWebsocket, PROJECT, type WebsocketLink } from '../../../testkit/edge/link.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

/** What the hub told of one thing that happened. */
type HubReport =
  | { readonly kind: 'connected'; readonly link: NodeLink }
  | {
      readonly kind: 'received'
      readonly link: NodeLink
      readonly message: Message
      readonly what: Upstream
    }
  | { readonly kind: 'caught up'; readonly link: NodeLink }
  | { readonly kind: 'ended'; readonly link: NodeLink; readonly why: EndReason }

let authorities: Promise<{ readonly ca: Pair; readonly server: Pair }> | undefined

/** One authority for all tests of a file: making keys takes time. */
const authority = () =>
  (authorities ??= makeAuthority().then(async ca => ({ ca, server: await makeServerPair(ca) })))

/** Look until something is so; fails the test's time limit, never on a slow machine. */
export const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise(resolve => setTimeout(resolve, 2))
}

/** A connection of a test's edge. */
export interface TestEdge extends WebsocketLink {
  readonly got: string[]
  /** 'opened', then how it ended; or why it was refused. */
  readonly said: string[]
  say(route: Route, content?: unknown): void
}

export interface StageOptions {
  readonly limits?: Partial<HubLimits>
  /** What the hub's clock follows. */
  readonly world?: FakeClock
  readonly clock?: Clock
  readonly isForeign?: (node: string) => Promise<boolean>
  readonly isEdge?: (node: string) => boolean
  readonly onReceived?: (link: NodeLink, message: Message) => void
}

/** A hub on a free port of loopback, whose time stands still. */
export const openStage = async (t: Test, options: StageOptions = {}) => {
  const { ca, server } = await authority()
  const fake = options.world ?? new FakeClock()
  const log = recordingLog()
  const reports: HubReport[] = []
  const hub = await openHub(
    {
      ...{ address: '127.0.0.1', port: 0, tls: { ca: ca.cert, ...server } },
      limits: { ...HUB_LIMITS, ...options.limits },
    },
    {
      ...{ clock: options.clock ?? fake, random: seededRandom(1), log },
      signal: new AbortController().signal,
      isEdge: options.isEdge ?? (() => true),
      isForeign: options.isForeign ?? (() => Promise.resolve(false)),
      sink: {
        connected: link => reports.push({ kind: 'connected', link }),
        received: (link, message, what) => {
          reports.push({ kind: 'received', link, message, what })
          options.onReceived?.(link, message)
        },
        caughtUp: link => reports.push({ kind: 'caught up', link }),
        ended: (link, why) => reports.push({ kind: 'ended', link, why }),
      },
    },
  )
  hub.serve()
  const url = `wss://127.0.0.1:${hub.port}`
  const links: { reset(): void }[] = []
  t.teardown(async () => {
    for (const link of links) link.reset()
    const ends = new AbortController()
    const closing = hub.close().then(() => ends.abort())
    while (!ends.signal.aborted) await fake.advance(100)
    await closing
  })
  const dial = async (
    node: string,
    more: { readonly nodeId?: string; readonly pair?: NodePairOptions; readonly ca?: Pair } = {},
  ): Promise<TestEdge> => {
    const pair = await makeNodePair(more.ca ?? ca, node, more.pair)
    const got: string[] = []
    const said: string[] = []
    const { nodeId = node } = more
    const link = dialWebsocket(
      { url, node, nodeId, tls: { ca: ca.cert, ...pair } },
      {
        opened: () => said.push('opened'),
        refused: reason => said.push(reason),
        received: text => got.push(text),
        ended: reason => said.push(reason),
      },
    )
    links.push(link)
    await until(() => said.length > 0)
    const say = (route: Route, content: unknown = null): void =>
      void link.send(encodeFrame(makeFrame(route, { content, wall: 0 })))
    return { ...link, got, said, say }
  }
  /** A websocket of the test's own, for what no edge does. */
  const raw = async (node: string): Promise<WebSocket> => {
    const tls = { ca: ca.cert, ...(await makeNodePair(ca, node)) }
    const headers = { node_id: node, ConnectionUse: 'msg' }
    const socket = new WebSocket(`${url}/${PROJECT}/${node}/events`, {
      ...{ ...tls, headers, perMessageDeflate: false },
    })
    socket.on('error', () => undefined)
    links.push({ reset: () => socket.terminate() })
    await new Promise(resolve => socket.once('open', resolve))
    return socket
  }
  const ended = (node: string): readonly EndReason[] =>
    reports.flatMap(one => (one.kind === 'ended' && one.link.node === node ? [one.why] : []))
  const received = (node: string): readonly Message[] =>
    reports.flatMap(one => (one.kind === 'received' && one.link.node === node ? [one.message] : []))
  const linkOf = (node: string): NodeLink => hub.linkOf(node as NodeName)!
  return { hub, clock: fake, log, reports, url, ca, dial, raw, ended, received, linkOf }
}

/** What a kubelet at the edge sends most. */
export const LEASE: Route = {
  ...{ source: 'edged', group: 'meta', operation: 'update' },
  resource: 'kube-node-lease/lease/e1',
}
export const KEEPALIVE: Route = {
  ...{ source: 'websocket', group: 'resource', operation: 'keepalive', resource: 'node' },
}

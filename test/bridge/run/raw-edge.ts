// SPDX-License-Identifier: Apache-2.0
// An edge that says what a test wants, on a real websocket.
import type { Test } from 'tap'
import { dialWebsocket } from '../../../testkit/edge/link.js'
import { decodeFrame, encodeFrame, makeFrame, type Frame } from '../../../testkit/edge/frame.js'
import type { openBridge } from './stage.js'

type Bridge = Awaited<ReturnType<typeof openBridge>>

export const rawEdge = async (t: Test, bridge: Bridge, node: string, isAcking = true) => {
  const tls = await bridge.pairOf(node)
  const got: Frame[] = []
  /** Stored as an edge stores: what came last counts. */
  const kept = new Map<string, unknown>()
  const state = { isAcking, ended: '', refused: '' }
  let opened!: () => void
  const isOpen = new Promise<void>(resolve => (opened = resolve))
  const link = dialWebsocket(
    { url: bridge.url, node, tls },
    {
      opened: () => opened(),
      refused: reason => {
        state.refused = reason
        opened()
      },
      ended: reason => (state.ended = reason),
      received: text => {
        const frame = decodeFrame(text)
        if (frame === undefined) return
        got.push(frame)
        const { operation = '', resource = '' } = frame.route
        if (
          operation === 'update' ||
          (operation === 'response' && typeof frame.content === 'object')
        )
          kept.set(resource, frame.content)
        if (operation === 'delete') kept.delete(resource)
        if (state.isAcking && (operation === 'update' || operation === 'delete'))
          link.send(
            encodeFrame(
              makeFrame(
                { source: 'meta', group: 'resource', operation: 'response', resource },
                { content: 'OK', wall: Date.now(), parent: frame.header.msg_id },
              ),
            ),
          )
      },
    },
  )
  t.teardown(() => link.reset())
  await isOpen
  const keepalive = setInterval(
    () =>
      link.send(
        encodeFrame(
          makeFrame(
            { source: 'websocket', group: 'resource', operation: 'keepalive', resource: 'node' },
            { content: 'ping', wall: Date.now() },
          ),
        ),
      ),
    5_000,
  )
  t.teardown(() => clearInterval(keepalive))
  const say = (operation: string, resource: string, content: unknown = null): string => {
    const frame = makeFrame(
      { source: 'edged', group: 'meta', operation, resource },
      { content, wall: Date.now() },
    )
    link.send(encodeFrame(frame))
    return frame.header.msg_id
  }
  const ask = async (operation: string, resource: string, content: unknown = null, ms = 10_000) => {
    const id = say(operation, resource, content)
    const until = Date.now() + ms
    for (;;) {
      const found = got.find(({ header }) => header.parent_msg_id === id)
      if (found !== undefined) return found
      if (Date.now() > until) return undefined
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }
  return { link, got, kept, say, ask, state }
}

export const within = async (
  ms: number,
  isSo: () => boolean | Promise<boolean>,
): Promise<boolean> => {
  const until = Date.now() + ms
  while (!(await isSo())) {
    if (Date.now() > until) return false
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  return true
}

// SPDX-License-Identifier: Apache-2.0
import type { ClientRequest } from 'node:http'
import { WebSocket } from 'ws'

/** A connection to the cloud, as an edge has it. */
export interface Link {
  /** False when the connection is known to be broken; the text is lost then. */
  send(text: string): boolean
  /** End it with a reset. May be called twice. */
  reset(): void
}

/** What becomes of a connection. One of `opened` and `refused` comes first; `ended` only after `opened`. */
export interface LinkEvents {
  opened(): void
  refused(reason: string): void
  received(text: string): void
  ended(reason: string): void
}

/** Open a connection. */
export type Dial = (events: LinkEvents) => Link

/** How an edge reaches the cloud over TLS. */
export interface CloudTarget {
  /** `wss://host:port` */
  readonly url: string
  readonly node: string
  /** @default the node's name; another one is what an impostor sends */
  readonly nodeId?: string
  /** PEM texts. */
  readonly tls: { readonly ca: string; readonly cert?: string; readonly key?: string }
  /** @default '127.0.0.1' */
  readonly localAddress?: string
}

/** The project that every edge names unless it is configured otherwise. */
export const PROJECT = 'e632aba927ea4ac2b575ec1603d56f10'

/** The headers in the order and with the letters of Go's HTTP client, as edges were recorded to send them. */
const sendAsGoDoes = (request: ClientRequest, host: string, nodeId: string): void => {
  const key = request.getHeader('sec-websocket-key') as string
  for (const name of request.getHeaderNames()) request.removeHeader(name)
  const headers = {
    Host: host,
    'User-Agent': 'Go-http-client/1.1',
    Connection: 'Upgrade',
    Connectionuse: 'msg',
    Node_id: nodeId,
    Project_id: PROJECT,
    'Sec-WebSocket-Key': key,
    'Sec-WebSocket-Version': '13',
    Upgrade: 'websocket',
  }
  for (const [name, value] of Object.entries(headers)) request.setHeader(name, value)
  request.end()
}

/** A websocket that can be cut off from the network without either end being told, as a gateway that loses its table does. */
export interface WebsocketLink extends Link {
  /** Nothing arrives and nothing leaves from now on; the connection stays open. */
  freeze(): void
  thaw(): void
}

/** Open a websocket as an edge does. */
export const dialWebsocket = (target: CloudTarget, events: LinkEvents): WebsocketLink => {
  const { url, node, nodeId = node, tls, localAddress = '127.0.0.1' } = target
  const socket = new WebSocket(`${url}/${PROJECT}/${node}/events`, {
    ...tls,
    localAddress,
    perMessageDeflate: false,
    maxPayload: 64 << 20,
    finishRequest: request => sendAsGoDoes(request, new URL(url).host, nodeId),
  })
  let isOpen = false
  let isFrozen = false
  const end = (reason: string): void => {
    if (isOpen) events.ended(reason)
    else events.refused(reason)
  }
  let trouble = 'closed'
  socket.on('open', () => {
    isOpen = true
    events.opened()
  })
  socket.on('message', (bytes: Buffer, isBinary) => {
    if (!isBinary) events.received(bytes.toString('utf8'))
  })
  socket.on('error', error => (trouble = error.message))
  socket.on('close', code => end(isOpen ? `${trouble} (${code})` : trouble))
  return {
    send: text => {
      if (socket.readyState !== WebSocket.OPEN) return false
      if (!isFrozen) socket.send(text)
      return true
    },
    reset: () => socket.terminate(),
    freeze: () => {
      isFrozen = true
      socket.pause()
    },
    thaw: () => {
      isFrozen = false
      socket.resume()
    },
  }
}

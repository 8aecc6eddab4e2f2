// SPDX-License-Identifier: Apache-2.0
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { parseNodeName, type NodeName } from '../../core/ids.js'

/** What an edge claims, and proves by its certificate, when it connects. */
export interface UpgradeClaim {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  /** Of the verified client certificate; undefined unless there is exactly one. */
  readonly commonName: string | undefined
}

/** The node that a connection belongs to, or why it is refused. */
export type Identity =
  | { readonly ok: true; readonly node: NodeName }
  | { readonly ok: false; readonly status: 400 | 403 | 404; readonly reason: string }

const PATH = /^\/[^/?]{1,64}\/([^/?]{1,253})\/events$/
const NODE_USER = 'system:node:'

const refused = (status: 400 | 403 | 404, reason: string): Identity => ({
  ...{ ok: false, status, reason },
})

const nodeNamed = (text: string): NodeName | undefined => {
  try {
    return parseNodeName(text)
  } catch {
    return undefined
  }
}

/**
 * The node that a connection belongs to: the certificate decides, and path and header must name the same node. KubeEdge's
 * own hub trusts the header, so there any edge can impersonate every other.
 */
export const identify = ({ method, url = '', headers, commonName }: UpgradeClaim): Identity => {
  const [, inPath] = PATH.exec(url) ?? []
  if (method !== 'GET' || inPath === undefined)
    return refused(404, 'the path must be /<project>/<node>/events')
  const node = nodeNamed(inPath)
  if (node === undefined) return refused(400, 'the path must name a node')
  if (headers['connectionuse'] !== 'msg') return refused(400, 'ConnectionUse must be msg')
  if (headers['node_id'] !== node) return refused(403, 'node_id is not the node of the path')
  if (commonName !== NODE_USER + node)
    return refused(403, 'the certificate is not that of the node')
  return { ok: true, node }
}

interface PeerCertificate {
  readonly subject?: { readonly CN?: unknown }
}

/** The common name in the peer's certificate; undefined unless TLS verified the certificate and it has one. */
export const commonNameOf = (socket: Socket): string | undefined => {
  if (!('authorized' in socket && socket.authorized === true)) return undefined
  if (!('getPeerCertificate' in socket)) return undefined
  const read = socket.getPeerCertificate as () => PeerCertificate
  const name = read.call(socket).subject?.CN
  return typeof name === 'string' ? name : undefined
}

// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { NodeName } from '../../core/ids.js'
import type { Logger } from '../../core/log.js'
import { RareLog } from '../../core/rare-log.js'
import { commonNameOf, identify } from './identity.js'

interface AdmissionSeams {
  readonly clock: Clock
  readonly log: Logger
  /** Whether the cluster has a Node of this name that is not an edge node. Rejects while that is unknown. */
  readonly isForeign: (node: NodeName) => Promise<boolean>
  /** Why the hub cannot serve this node now; undefined when it can. */
  readonly unavailable: (node: NodeName) => string | undefined
}

/** The node that a request for a connection was admitted for. */
interface Admitted {
  readonly node: NodeName
  readonly remote: string
}

interface Refusal {
  readonly status: 400 | 403 | 404 | 503
  /** Sent to the edge; one of a few texts. */
  readonly reason: string
  /** Details for the log alone. */
  readonly error?: string
}

const STATUS_TEXT: Readonly<Record<Refusal['status'], string>> = {
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  503: 'Service Unavailable',
}

/** Decides whether a request for a websocket becomes a node's connection, and answers it when it does not. */
export class Admission {
  readonly #seams: AdmissionSeams
  readonly #rareLog: RareLog
  /** Nodes for which `isForeign` has not answered yet. */
  readonly #pending = new Set<NodeName>()
  readonly #refused = new Map<string, number>()

  constructor(seams: AdmissionSeams) {
    this.#seams = seams
    this.#rareLog = new RareLog(seams.clock, seams.log)
  }

  /** Refused requests, by HTTP status. */
  get refused(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#refused)
  }

  /** Never rejects. @returns undefined after it answered with a refusal */
  async admit(request: IncomingMessage, socket: Duplex): Promise<Admitted | undefined> {
    const { method, url, headers } = request
    const commonName = commonNameOf(request.socket)
    const identity = identify({ method, url, headers, commonName })
    const remote = request.socket.remoteAddress ?? ''
    const from = { remote, commonName }
    if (!identity.ok) {
      this.#refuse(socket, { status: identity.status, reason: identity.reason }, from)
      return undefined
    }
    const { node } = identity
    const refusal = await this.#refusalOf(node)
    if (refusal === undefined) return { node, remote }
    this.#refuse(socket, refusal, from)
    return undefined
  }

  async #refusalOf(node: NodeName): Promise<Refusal | undefined> {
    // The hub may stop serving, or become full, while the cluster is asked.
    return this.#unavailable(node) ?? (await this.#foreign(node)) ?? this.#unavailable(node)
  }

  #unavailable(node: NodeName): Refusal | undefined {
    const reason = this.#seams.unavailable(node)
    return reason === undefined ? undefined : { status: 503, reason }
  }

  async #foreign(node: NodeName): Promise<Refusal | undefined> {
    if (this.#pending.has(node))
      return { status: 503, reason: 'another connection of the node is being checked' }
    this.#pending.add(node)
    try {
      const isForeign = await this.#seams.isForeign(node)
      return isForeign ? { status: 403, reason: 'the Node is not an edge node' } : undefined
    } catch (error) {
      const reason = 'it is not known whether the Node is an edge node'
      return { status: 503, reason, error: reasonOf(error) }
    } finally {
      this.#pending.delete(node)
    }
  }

  #refuse(
    socket: Duplex,
    refusal: Refusal,
    from: { readonly remote: string; readonly commonName: string | undefined },
  ): void {
    const { status, reason } = refusal
    this.#refused.set(String(status), (this.#refused.get(String(status)) ?? 0) + 1)
    this.#rareLog.warn(reason, 'an edge was refused', { ...refusal, ...from })
    const body = `${reason}\n`
    const lines = [
      `HTTP/1.1 ${status} ${STATUS_TEXT[status]}`,
      ...['Connection: close', 'Content-Type: text/plain', `Content-Length: ${body.length}`],
    ]
    socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
  }
}

// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { InvalidInputError } from '../../core/errors.js'
import { Link } from './link.js'
import { isHealth } from './routes.js'

/** The token in a request's Authorization header. */
export const bearer = (request: IncomingMessage): string | undefined =>
  /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]

/** The clients of the embedded API: a token and a link for each; links may be cut. */
export class Clients {
  readonly #anonymous: string | undefined
  readonly #links = new Map<string, Link>()
  readonly #tokens = new Map<string, string>()

  /** @param anonymous the client that requests without a token belong to */
  constructor(anonymous: string | undefined) {
    this.#anonymous = anonymous
    if (anonymous !== undefined) this.add(anonymous)
  }

  /** @returns its token */
  add(name: string): string {
    const known = [...this.#tokens].find(([, client]) => client === name)
    if (known !== undefined) return known[0]
    const token = randomBytes(24).toString('hex')
    this.#tokens.set(token, name)
    this.#links.set(name, new Link(name))
    return token
  }

  /** The client with this token. */
  withToken(token: string): string | undefined {
    return this.#tokens.get(token)
  }

  /** @throws InvalidInputError */
  link(client: string): Link {
    const link = this.#links.get(client)
    if (link === undefined)
      throw new InvalidInputError('client', 'must be one that addClient made', client)
    return link
  }

  get isAnyCut(): boolean {
    return [...this.#links.values()].some(({ state }) => state !== 'up')
  }

  /** The link of a request's client, by its token or by an earlier request on its connection; undefined when unknown. */
  linkOf(request: IncomingMessage, path: string): Link | undefined {
    const token = bearer(request)
    if (token !== undefined) {
      const client = this.#tokens.get(token)
      return client === undefined ? undefined : this.link(client)
    }
    const anonymous = this.#anonymous
    // A cut link must cut health checks too, so while any is cut a client has to say who it is for those.
    const isWithheld = isHealth(path) && this.isAnyCut
    for (const link of this.#links.values())
      if (link.has(request.socket) && !(isWithheld && link.client === anonymous)) return link
    return anonymous === undefined || isWithheld ? undefined : this.link(anonymous)
  }
}

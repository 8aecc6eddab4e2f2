// SPDX-License-Identifier: Apache-2.0
// A watch that stays open for a whole run: what its events add up to must be what a list holds.
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import type { Json } from '../../../../sandbox/api-client.js'

interface WatchedObject extends Json {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly resourceVersion: string
  }
}

export const keyOf = ({ metadata }: WatchedObject): string =>
  `${metadata.namespace ?? ''}/${metadata.name}`

/** Lists, watches, and lists again when it is told 410, as client-go does. */
export class Watcher {
  readonly path: string
  readonly #port: number
  readonly #objects = new Map<string, WatchedObject>()
  #request: ClientRequest | undefined
  #isStopped = false
  events = 0
  lists = 0
  /** What no client should meet. */
  trouble: string | undefined

  constructor(port: number, path: string) {
    this.#port = port
    this.path = path
  }

  /** The objects as the events tell them. */
  get objects(): ReadonlyMap<string, WatchedObject> {
    return this.#objects
  }

  async start(token: string): Promise<void> {
    const answer = await this.#ask(this.path, token)
    let text = ''
    for await (const part of answer.setEncoding('utf8')) text += part as string
    const { items, metadata } = JSON.parse(text) as {
      items: readonly WatchedObject[]
      metadata: { resourceVersion: string }
    }
    this.lists++
    this.#objects.clear()
    for (const item of items) this.#objects.set(keyOf(item), item)
    void this.#follow(metadata.resourceVersion, token)
  }

  stop(): void {
    this.#isStopped = true
    this.#request?.destroy()
  }

  async #follow(version: string, token: string): Promise<void> {
    try {
      const path = `${this.path}?watch=1&allowWatchBookmarks=true&resourceVersion=${version}`
      const answer = await this.#ask(path, token)
      let rest = ''
      for await (const part of answer.setEncoding('utf8')) {
        const lines = (rest + (part as string)).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) if (line !== '') this.#take(line)
      }
    } catch (error) {
      if (!this.#isStopped) this.trouble ??= `watch of ${this.path}: ${(error as Error).message}`
    }
    if (!this.#isStopped) await this.start(token).catch(() => undefined)
  }

  #take(line: string): void {
    const { type, object } = JSON.parse(line) as { type: string; object: WatchedObject }
    this.events++
    if (type === 'DELETED') this.#objects.delete(keyOf(object))
    else if (type === 'ADDED' || type === 'MODIFIED') this.#objects.set(keyOf(object), object)
    else if (type !== 'BOOKMARK') this.trouble ??= `watch of ${this.path} was told ${line}`
  }

  #ask(path: string, token: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, accept: 'application/json' }
      this.#request = httpRequest(
        { host: '127.0.0.1', port: this.#port, path, headers, agent: false },
        resolve,
      )
      this.#request.on('error', reject)
      this.#request.end()
    })
  }
}

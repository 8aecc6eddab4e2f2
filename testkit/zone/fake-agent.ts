// SPDX-License-Identifier: Apache-2.0
// The one page of an agent that a wrapper reads, with the health that its user publishes.
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export class FakeAgent {
  readonly #server: Server
  readonly #streams = new Set<ServerResponse>()
  readonly #nodes = new Map<string, boolean>()
  #generation = 1

  constructor() {
    this.#server = createServer((request, response) => {
      const url = new URL(request.url ?? '/', 'http://localhost')
      if (url.pathname !== '/localinfo') response.writeHead(404).end()
      else if (url.searchParams.has('stream')) this.#open(response)
      else response.writeHead(200, { 'content-type': 'text/plain' }).end(this.#render(this.#nodes))
    })
  }

  /** @returns where `/localinfo` is. */
  async start(port = 0): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(port, '127.0.0.1', resolve))
    const { port: found } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${found}/localinfo`
  }

  /** Set the health of these nodes, and send it to each stream. */
  publish(changes: ReadonlyMap<string, boolean>): void {
    for (const [name, isNormal] of changes) this.#nodes.set(name, isNormal)
    this.#generation++
    for (const stream of this.#streams) this.#send(stream, 'change', changes)
  }

  async stop(): Promise<void> {
    for (const stream of this.#streams) stream.destroy()
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  #open(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    this.#streams.add(response)
    response.on('close', () => this.#streams.delete(response))
    this.#send(response, 'snapshot', this.#nodes)
  }

  #send(stream: ServerResponse, event: string, nodes: ReadonlyMap<string, boolean>): void {
    stream.write(`event: ${event}\nid: ${this.#generation}\ndata: ${this.#render(nodes)}\n\n`)
  }

  #render(nodes: ReadonlyMap<string, boolean>): string {
    const entries = [...nodes].map(([name, isNormal]) => [name, { Normal: isNormal, Hamc: '' }])
    return JSON.stringify(Object.fromEntries(entries))
  }
}

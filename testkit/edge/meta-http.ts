// SPDX-License-Identifier: Apache-2.0
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonMap } from '../../core/json.js'
import type { MetaRequest, MetaServer } from './meta-server.js'

/** The MetaServer of an edge, as programs on its node find it. */
export interface MetaHttp {
  readonly url: string
  close(): Promise<void>
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

const PATH =
  /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/
const VERBS: Readonly<Record<string, string>> = { PATCH: 'patch', POST: 'create', PUT: 'update', DELETE: 'delete' } // prettier-ignore

const listOptions = (query: URLSearchParams): JsonMap => {
  const numbers = new Set(['limit', 'timeoutSeconds'])
  const booleans = new Set(['watch', 'allowWatchBookmarks'])
  return Object.fromEntries(
    [...query].map(([key, value]) => [
      key,
      numbers.has(key) ? Number(value) : booleans.has(key) ? value !== 'false' : value,
    ]),
  )
}

/** A request in the words of the MetaServer, as the library for apiservers reads it. */
const requestOf = async (request: IncomingMessage, url: URL): Promise<MetaRequest | undefined> => {
  const found = PATH.exec(url.pathname)
  if (found === null) return undefined
  const [, group = 'core', version = '', namespace, resource = '', named, part = ''] = found
  const query = url.searchParams
  const selected = /^metadata\.name=([^,]+)$/.exec(query.get('fieldSelector') ?? '')?.[1]
  const name = named ?? selected
  const Key =
    [group, version, resource, ...(namespace === undefined && name === undefined ? [] : [namespace ?? 'null']), ...(name === undefined ? [] : [name])] // prettier-ignore
      .map(text => `/${text}`)
      .join('')
  const Subresource = part
  const isWatch = query.get('watch') !== null && query.get('watch') !== 'false'
  const read = named === undefined ? (isWatch ? 'watch' : 'list') : 'get'
  const Verb = VERBS[request.method ?? 'GET'] ?? read
  const text = await bodyOf(request)
  if (Verb === 'patch') {
    const Options = { fieldManager: query.get('fieldManager'), dryRun: query.getAll('dryRun') }
    const Data = Buffer.from(text).toString('base64')
    const PatchType = request.headers['content-type'] ?? ''
    const option = { Name: name ?? '', PatchType, Data, Options, Subresources: [part] }
    return { Verb, Key, Subresource, option }
  }
  if (text !== '') return { Verb, Key, Subresource, body: JSON.parse(text) as JsonMap }
  return { Verb, Key, Subresource, option: listOptions(query) }
}

const serve = async (
  meta: MetaServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const asked = await requestOf(request, new URL(request.url ?? '/', 'http://edge'))
  const head = { 'Content-Type': 'application/json' }
  if (asked === undefined) {
    // Of paths beside objects it answers from its cache.
    response.writeHead(200, head).end('{}')
    return
  }
  if (asked.Verb !== 'watch') {
    const { code, body } = await meta.request(asked)
    response.writeHead(code, head).end(JSON.stringify(body))
    return
  }
  response.writeHead(200, head).flushHeaders()
  const watch = await meta.watch(asked, (type, object) => {
    response.write(`${JSON.stringify({ type, object })}\n`)
  })
  if (response.destroyed) watch.end()
  else response.once('close', () => watch.end())
}

/** On a free port of loopback. */
export const serveMeta = async (meta: MetaServer): Promise<MetaHttp> => {
  const server = createServer((request, response) => void serve(meta, request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

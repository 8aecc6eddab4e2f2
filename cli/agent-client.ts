// SPDX-License-Identifier: Apache-2.0
import { get, type IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import { Option } from 'commander'
import * as v from 'valibot'
import type { ExplainView, StatusView } from '../agent/http/status-view.js'
import { EdgeHealthError, InvalidInputError, reasonOf } from '../core/errors.js'
import { parseJson, parseWith } from '../core/parse.js'
import { Exit, type World } from './world.js'

const DEFAULT_AGENT = 'http://127.0.0.1:51005'
const TIMEOUT_MS = 5_000
const MAX_BODY_BYTES = 64 * 1_048_576

/** `--agent URL`, or EDGE_HEALTH_AGENT. */
export const agentOption = (world: World): Option => {
  const given = world.env['EDGE_HEALTH_AGENT'] ?? ''
  const what = "the agent's local listener; also EDGE_HEALTH_AGENT"
  return new Option('--agent <url>', `${what} (default ${DEFAULT_AGENT})`).default(
    given === '' ? DEFAULT_AGENT : given,
  )
}

/** @throws InvalidInputError unless it is an http URL. */
export const parseAgentUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:') return url.origin
  throw new InvalidInputError('--agent', `must be an http:// URL such as ${DEFAULT_AGENT}`, text)
}

const unreachable = (base: string, reason: string): Exit =>
  new Exit(
    3,
    `no agent answers at ${base}: ${reason}\n` +
      'Run this on the node or in its agent Pod, or name the listener with --agent. To look: ' +
      'kubectl -n edge-system get pods -o wide, kubectl -n edge-system logs POD',
  )

const open = (base: string, path: string, signal: AbortSignal): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const request = get(`${base}${path}`, { signal, agent: false, timeout: TIMEOUT_MS }, resolve)
    request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)))
    request.on('error', reject)
  })

const readAll = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) throw new Error('the answer is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const fetchText = async (
  base: string,
  path: string,
  world: World,
): Promise<{ readonly status: number; readonly text: string }> => {
  try {
    const response = await open(base, path, world.signal)
    return { status: response.statusCode ?? 0, text: await readAll(response) }
  } catch (error) {
    throw unreachable(base, reasonOf(error))
  }
}

// Enough to tell an agent from anything else that answers on this port; the rest is the agent's word.
const nodeSchema = v.looseObject({
  name: v.string(),
  class: v.string(),
  votes: v.looseObject({ down: v.number() }),
  guards: v.array(v.looseObject({ kind: v.string() })),
})
const zoneFields = {
  version: v.string(),
  at: v.string(),
  zone: v.looseObject({ name: v.string() }),
}
const statusSchema = v.looseObject({ ...zoneFields, nodes: v.array(nodeSchema) })
const nodeViewSchema = v.looseObject({ ...zoneFields, node: nodeSchema })

const checked = (base: string, parse: () => unknown): unknown => {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof EdgeHealthError)) throw error
    throw unreachable(base, `what answers is not an agent of this version: ${error.message}`)
  }
}

const parseStatus = (base: string, text: string): StatusView =>
  checked(base, () => parseWith(statusSchema, '/status', parseJson('/status', text))) as StatusView

/** The zone as the agent sees it. @throws Exit 3 when it cannot be had. */
export const fetchStatus = async (base: string, world: World): Promise<StatusView> => {
  const { status, text } = await fetchText(base, '/status', world)
  if (status !== 200) throw unreachable(base, `it says ${status} ${text.trim()}`)
  return parseStatus(base, text)
}

/** One node with its voters; undefined when the zone does not have it. @throws Exit 3 when it cannot be had. */
export const fetchNode = async (
  base: string,
  name: string,
  world: World,
): Promise<ExplainView | undefined> => {
  const path = `/status?node=${encodeURIComponent(name)}`
  const { status, text } = await fetchText(base, path, world)
  if (status === 404 && text.startsWith('no such node')) return undefined
  if (status !== 200) throw unreachable(base, `it says ${status} ${text.trim()}`)
  return checked(base, () => parseWith(nodeViewSchema, path, parseJson(path, text))) as ExplainView
}

/** Every new view from the agent's stream, until it ends or the world's signal aborts. @throws Exit 3. */
export async function* watchStatus(base: string, world: World): AsyncGenerator<StatusView> {
  try {
    const response = await open(base, '/status?stream=1', world.signal)
    response.socket.setTimeout(0)
    if (response.statusCode !== 200) throw new Error(`it says ${response.statusCode ?? 0}`)
    for await (const line of createInterface({ input: response })) {
      if (line.startsWith('data: ')) yield parseStatus(base, line.slice('data: '.length))
    }
  } catch (error) {
    if (world.signal.aborted) return
    throw error instanceof Exit ? error : unreachable(base, reasonOf(error))
  }
  if (!world.signal.aborted) throw unreachable(base, 'the stream ended')
}

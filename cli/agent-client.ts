// SPDX-License-Identifier: Apache-2.0
import type { Option } from 'commander'
import * as v from 'valibot'
import type { HistoryEntryView, HistoryView } from '../agent/http/history-view.js'
import type { ExplainView, StatusView } from '../agent/http/status-view.js'
import { reasonOf } from '../core/errors.js'
import { LocalClient } from './local-client.js'
import { Exit, type CliContext } from './cli-context.js'

const client = new LocalClient({
  name: 'agent',
  withArticle: 'an agent',
  listener: "the agent's local listener",
  url: 'http://127.0.0.1:51005',
})

/** `--agent URL`, or EDGE_HEALTH_AGENT. */
export const agentOption = (context: CliContext): Option => client.option(context)

/** @throws InvalidInputError unless it is an http URL. */
export const parseAgentUrl = (text: string): string => client.parseUrl(text)

// Enough to tell an agent from anything else that answers on this port; the other fields are trusted.
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

const parseStatus = (base: string, text: string): StatusView =>
  client.parse(base, '/status', statusSchema, text) as StatusView

/** The zone as the agent sees it. @throws Exit 3 when there is no answer. */
export const fetchStatus = async (base: string, context: CliContext): Promise<StatusView> =>
  parseStatus(base, (await client.fetch(base, '/status', context)).text)

/** One node with its voters; undefined when it is not in the zone. @throws Exit 3 when there is no answer. */
export const fetchNode = async (
  base: string,
  name: string,
  context: CliContext,
): Promise<ExplainView | undefined> => {
  const path = `/status?node=${encodeURIComponent(name)}`
  const { status, text } = await client.fetch(
    base,
    path,
    context,
    answer => answer.status === 404 && answer.text.startsWith('no such node'),
  )
  if (status === 404) return undefined
  return client.parse(base, path, nodeViewSchema, text) as ExplainView
}

const entrySchema = v.looseObject({
  id: v.number(),
  at: v.string(),
  kind: v.string(),
  text: v.string(),
  nodes: v.array(v.string()),
})
const historySchema = v.looseObject({
  at: v.string(),
  self: v.looseObject({ name: v.string() }),
  entries: v.array(entrySchema),
})

const parseHistory = (base: string, text: string): HistoryView =>
  client.parse(base, '/history', historySchema, text) as HistoryView

/** Recent events. @throws Exit 3 when there is no answer. */
export const fetchHistory = async (base: string, context: CliContext): Promise<HistoryView> =>
  parseHistory(base, (await client.fetch(base, '/history', context)).text)

/** The text of an answer with any status. @throws Exit 3 when there is no answer. */
export const fetchText = async (base: string, path: string, context: CliContext): Promise<string> =>
  (await client.fetch(base, path, context, () => true)).text

/** Events of a stream, as JSON text, until it ends or the context's signal aborts. @throws Exit 3. */
async function* watch(base: string, path: string, context: CliContext): AsyncGenerator<string> {
  try {
    const response = await client.open(base, path, context.signal)
    response.socket.setTimeout(0)
    // Loaded here, since the agent itself includes this file and does not need it.
    const { createInterface } = await import('node:readline')
    if (response.statusCode !== 200) throw new Error(`it says ${response.statusCode ?? 0}`)
    for await (const line of createInterface({ input: response }))
      if (line.startsWith('data: ')) yield line.slice('data: '.length)
  } catch (error) {
    if (context.signal.aborted) return
    throw error instanceof Exit ? error : client.unreachable(base, reasonOf(error))
  }
  if (!context.signal.aborted) throw client.unreachable(base, 'the stream ended')
}

/** Every entry after `after` from the agent's stream. @throws Exit 3. */
export async function* watchHistory(
  base: string,
  after: number,
  context: CliContext,
): AsyncGenerator<HistoryEntryView> {
  let last = after
  for await (const text of watch(base, `/history?stream=1&after=${after}`, context)) {
    // The first event has all entries since `after`; each later one has one entry.
    const entries = text.includes('"entries"')
      ? parseHistory(base, text).entries
      : [client.parse(base, '/history', entrySchema, text) as HistoryEntryView]
    for (const entry of entries.filter(({ id }) => id > last)) {
      last = entry.id
      yield entry
    }
  }
}

/** Every new view from the agent's stream, until it ends or the context's signal aborts. @throws Exit 3. */
export async function* watchStatus(base: string, context: CliContext): AsyncGenerator<StatusView> {
  for await (const text of watch(base, '/status?stream=1', context)) yield parseStatus(base, text)
}

// SPDX-License-Identifier: Apache-2.0
import { get, type IncomingMessage } from 'node:http'
import { Option } from 'commander'
import * as v from 'valibot'
import { EdgeHealthError, InvalidInputError, reasonOf } from '../core/errors.js'
import { parseJson, parseWith } from '../core/parse.js'
import type { ServiceView, WrapperStatusView } from '../wrapper/status/status-view.js'
import { Exit, type World } from './world.js'

const DEFAULT_WRAPPER = 'http://127.0.0.1:51007'
const TIMEOUT_MS = 5_000
const MAX_BODY_BYTES = 64 * 1_048_576

/** `--wrapper URL`, or EDGE_HEALTH_WRAPPER. */
export const wrapperOption = (world: World): Option => {
  const given = world.env['EDGE_HEALTH_WRAPPER'] ?? ''
  const what = "the wrapper's status listener; also EDGE_HEALTH_WRAPPER"
  return new Option('--wrapper <url>', `${what} (default ${DEFAULT_WRAPPER})`).default(
    given === '' ? DEFAULT_WRAPPER : given,
  )
}

/** @throws InvalidInputError unless it is an http URL. */
const parseUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:') return url.origin
  const rule = `must be an http:// URL such as ${DEFAULT_WRAPPER}`
  throw new InvalidInputError('--wrapper', rule, text)
}

const unreachable = (base: string, reason: string): Exit =>
  new Exit(
    3,
    `no wrapper answers at ${base}: ${reason}\n` +
      'Run this on the node or in its wrapper Pod, or name the listener with --wrapper. To look: ' +
      'kubectl -n edge-system get pods -o wide, kubectl -n edge-system logs POD',
  )

const open = (url: string, signal: AbortSignal): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const request = get(url, { signal, agent: false, timeout: TIMEOUT_MS }, resolve)
    request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)))
    request.on('error', reject)
  })

const fetchText = async (
  base: string,
  path: string,
  world: World,
): Promise<{ readonly status: number; readonly text: string }> => {
  try {
    const response = await open(`${base}${path}`, world.signal)
    let text = ''
    for await (const part of response.setEncoding('utf8') as AsyncIterable<string>) {
      text += part
      if (text.length > MAX_BODY_BYTES) throw new Error('the answer is too large')
    }
    return { status: response.statusCode ?? 0, text }
  } catch (error) {
    throw unreachable(base, reasonOf(error))
  }
}

// Enough to tell a wrapper from anything else that answers on this port; the rest is the wrapper's word.
const head = { version: v.string(), at: v.string(), node: v.string() }
const statusSchema = v.looseObject({
  ...head,
  resources: v.array(v.looseObject({ resource: v.string(), source: v.string() })),
  health: v.looseObject({ state: v.string() }),
})
const fates = v.array(v.looseObject({ object: v.string(), isKept: v.boolean() }))
const serviceSchema = v.looseObject({ ...head, slices: fates, endpoints: fates })

const checked = (base: string, parse: () => unknown): unknown => {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof EdgeHealthError)) throw error
    throw unreachable(base, `what answers is not a wrapper of this version: ${error.message}`)
  }
}

/** How the wrapper is doing. @throws Exit 3 when it cannot be had. */
export const fetchWrapperStatus = async (url: string, world: World): Promise<WrapperStatusView> => {
  const base = parseUrl(url)
  const { status, text } = await fetchText(base, '/status', world)
  if (status !== 200) throw unreachable(base, `it says ${status} ${text.trim()}`)
  return checked(base, () =>
    parseWith(statusSchema, '/status', parseJson('/status', text)),
  ) as WrapperStatusView
}

/** What becomes of a service's endpoints; undefined when the wrapper does not know it. @throws Exit 3. */
export const fetchService = async (
  url: string,
  service: string,
  world: World,
): Promise<ServiceView | undefined> => {
  const base = parseUrl(url)
  const path = `/explain?service=${encodeURIComponent(service)}`
  const { status, text } = await fetchText(base, path, world)
  if (status === 404 && text.startsWith('no such service')) return undefined
  if (status !== 200) throw unreachable(base, `it says ${status} ${text.trim()}`)
  return checked(base, () => parseWith(serviceSchema, path, parseJson(path, text))) as ServiceView
}

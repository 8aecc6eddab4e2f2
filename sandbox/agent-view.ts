// SPDX-License-Identifier: Apache-2.0
import { get } from 'node:http'
import * as v from 'valibot'
import { type Clock, withTimeout } from '../core/clock.js'
import { parseJson, parseWith } from '../core/parse.js'

// The fields of an agent's responses that the sandbox uses.
const localinfoSchema = v.record(v.string(), v.looseObject({ Normal: v.boolean() }))

const nodeSchema = v.looseObject({
  name: v.string(),
  verdict: v.string(),
  class: v.string(),
  votes: v.object({ down: v.number(), up: v.number(), needed: v.number() }),
  guards: v.array(v.looseObject({ kind: v.string() })),
  cloudCutSince: v.nullable(v.string()),
  vouch: v.looseObject({ state: v.string(), by: v.nullable(v.string()) }),
  recordAgeSeconds: v.nullable(v.number()),
  peer: v.nullable(v.looseObject({ state: v.string() })),
  nextWrite: v.nullable(v.looseObject({ by: v.string() })),
  lastWrite: v.nullable(v.looseObject({ at: v.string(), by: v.string(), what: v.string() })),
})

const statusSchema = v.looseObject({
  cloudLink: v.looseObject({ state: v.string() }),
  brake: v.looseObject({ isOn: v.boolean() }),
  disruption: v.string(),
  zone: v.looseObject({ members: v.number() }),
  keys: v.looseObject({ state: v.string(), sharedBy: v.number() }),
  // Earlier versions know none.
  identity: v.optional(v.looseObject({ members: v.number() }), { members: 0 }),
  nodes: v.array(nodeSchema),
})

/** Node name → does this agent call it up. */
export type LocalInfo = ReadonlyMap<string, boolean>

/** `/status`, cut down. */
export type AgentStatus = Readonly<v.InferOutput<typeof statusSchema>>
export type AgentNode = AgentStatus['nodes'][number]

const TIMEOUT_MS = 2_500
const MAX_CHARACTERS = 8_000_000

const fetchText = (url: string, signal: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    const request = get(url, { signal, agent: false }, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part
        if (text.length > MAX_CHARACTERS) request.destroy(new Error('answer too long'))
      })
      answer.on('error', reject)
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve(text)
        else reject(new Error(`answer ${answer.statusCode ?? 0}`))
      })
    })
    request.on('error', reject)
  })

/** Undefined when the agent does not answer, or not as an agent does: an observation, not an error. */
const look = async <T>(
  url: string,
  clock: Clock,
  signal: AbortSignal,
  parse: (value: unknown) => T,
): Promise<T | undefined> => {
  try {
    const text = await withTimeout(clock, TIMEOUT_MS, signal, inner => fetchText(url, inner))
    return parse(parseJson(url, text))
  } catch {
    return undefined
  }
}

/** `GET /localinfo` of an agent at `base`. */
export const readLocalInfo = (
  base: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<LocalInfo | undefined> =>
  look(`${base}/localinfo`, clock, signal, value => {
    const known = parseWith(localinfoSchema, 'localinfo', value)
    return new Map(Object.entries(known).map(([name, { Normal }]) => [name, Normal]))
  })

/** `GET /status` of an agent at `base`. */
export const readStatus = (
  base: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<AgentStatus | undefined> =>
  look(`${base}/status`, clock, signal, value => parseWith(statusSchema, 'status', value))

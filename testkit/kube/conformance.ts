// SPDX-License-Identifier: Apache-2.0
import { isDeepStrictEqual } from 'node:util'
import { reasonOf } from '../../core/errors.js'

/** One step of a row. In all texts `{id}` is the run's own id, and `{x}` what a step before saved as x. */
export type Step =
  | {
      /** `GET /api/v1/nodes/…` */
      readonly do: string
      readonly body?: unknown
      /** Media type of the body: `json` (default), `merge`, `strategic`, `json-patch`, `apply`, or a whole one. */
      readonly type?: string
      readonly accept?: string
      /** Ask again, for seconds, until the answer is the wanted one. */
      readonly until?: true
      /** Keep fields of the answer under a name: name → dotted path. */
      readonly save?: Readonly<Record<string, string>>
      /** Dotted path in the answer → what must be there; null means absent. `status` is the HTTP status. */
      readonly want: Readonly<Record<string, unknown>>
    }
  /** Open a watch and keep it under a name. */
  | {
      readonly watch: string
      readonly as: string
      readonly status?: number
      readonly accept?: string
    }
  /** The next events of a watch, as `ADDED name`, `ADDED metadata of name` or `ADDED row of name`; with none wanted: silence for a moment. */
  | { readonly events: string; readonly want: readonly string[] }
  /** The server forgets all versions but the present one, as after a compaction and a restart. */
  | { readonly forget: true }

/** What must hold on every server of this kind: a name and its steps. */
export type Row = readonly [name: string, ...steps: readonly Step[]]

/** A server under test. */
export interface Judged {
  readonly url: string
  readonly token: string
  /** Set apart the objects of one run: lower case letters and digits. */
  readonly id: string
  /** Carries out a `forget` step; undefined where this cannot be done. */
  readonly forget: (() => Promise<void>) | undefined
}

const TYPES: Readonly<Record<string, string>> = {
  json: 'application/json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  'json-patch': 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
}

const QUIET_MS = 150
const PATIENCE_MS = 5_000

const valueAt = (value: unknown, path: string): unknown => {
  // A segment in brackets may hold dots: `metadata.annotations[k8s.io/x]`.
  const steps = path.match(/[^.[\]]+|\[[^\]]+\]/g) ?? []
  return steps.reduce<unknown>((at, step) => {
    if (step === '#') return Array.isArray(at) ? at.length : null
    const key = step.replace(/^\[|\]$/g, '')
    return typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined
  }, value)
}

const later = (ms: number): Promise<'late'> =>
  new Promise(resolve => setTimeout(() => resolve('late'), ms).unref())

class Stream {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #lines: string[] = []
  #rest = ''
  #pending: Promise<boolean> | undefined

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader()
  }

  /** The next event as text, `end`, or `silence`. */
  async next(ms: number): Promise<string> {
    const deadline = later(ms)
    while (this.#lines.length === 0) {
      this.#pending ??= this.#fill()
      const more: unknown = await Promise.race([this.#pending, deadline])
      if (more === 'late') return 'silence'
      this.#pending = undefined
      if (more !== true) return 'end'
    }
    return eventText(JSON.parse(this.#lines.shift()!))
  }

  close(): Promise<void> {
    return this.#reader.cancel().catch(() => undefined)
  }

  async #fill(): Promise<boolean> {
    const { done, value } = await this.#reader.read()
    if (done) return false
    const parts = (this.#rest + Buffer.from(value).toString()).split('\n')
    this.#rest = parts.pop() ?? ''
    this.#lines.push(...parts.filter(part => part !== ''))
    return true
  }
}

const eventText = (event: unknown): string => {
  const type = String(valueAt(event, 'type'))
  if (type === 'ERROR')
    return `ERROR ${String(valueAt(event, 'object.code'))} ${String(valueAt(event, 'object.reason'))}`
  if (type === 'BOOKMARK') {
    const end = valueAt(event, 'object.metadata.annotations[k8s.io/initial-events-end]')
    return end === 'true' ? 'BOOKMARK end' : 'BOOKMARK'
  }
  if (valueAt(event, 'object.kind') === 'Table') {
    const columns = valueAt(event, 'object.columnDefinitions.0.name')
    const form = typeof columns === 'string' ? 'row and columns' : 'row'
    return `${type} ${form} of ${String(valueAt(event, 'object.rows.0.cells.0'))}`
  }
  const isMetadata = valueAt(event, 'object.kind') === 'PartialObjectMetadata'
  return `${type} ${isMetadata ? 'metadata of ' : ''}${String(valueAt(event, 'object.metadata.name'))}`
}

class Runner {
  readonly #judged: Judged
  readonly #names = new Map<string, string>()
  readonly #streams = new Map<string, Stream>()
  readonly differences: string[] = []

  constructor(judged: Judged) {
    this.#judged = judged
    this.#names.set('id', judged.id)
    this.#names.set('token', judged.token)
  }

  async step(step: Step): Promise<void> {
    if ('do' in step) await this.#request(step)
    else if ('watch' in step) await this.#watch(step)
    else if ('forget' in step) await this.#forget()
    else await this.#events(step)
  }

  async close(): Promise<void> {
    for (const stream of this.#streams.values()) await stream.close()
  }

  async #forget(): Promise<void> {
    const { forget } = this.#judged
    if (forget === undefined) throw new Error('this server cannot be made to forget')
    await forget()
  }

  #fill(text: string): string {
    return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => this.#names.get(name) ?? whole)
  }

  #filled<T>(value: T): T {
    return value === undefined ? value : (JSON.parse(this.#fill(JSON.stringify(value))) as T)
  }

  async #request(step: Extract<Step, { do: string }>): Promise<void> {
    const [method = '', path = ''] = this.#fill(step.do).split(' ')
    const body = this.#filled(step.body)
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const type = TYPES[step.type ?? 'json'] ?? step.type!
    const ask = () =>
      fetch(this.#judged.url + path, {
        method,
        headers: {
          authorization: `Bearer ${this.#judged.token}`,
          accept: step.accept ?? 'application/json',
          ...(body === undefined ? {} : { 'content-type': type }),
        },
        ...(body === undefined ? {} : { body: text }),
      })
    const wanted = Object.entries(this.#filled(step.want))
    const deadline = Date.now() + PATIENCE_MS * 2
    for (;;) {
      const response = await ask()
      const answer = parsed(await response.text())
      const gotAt = (at: string) => (at === 'status' ? response.status : valueAt(answer, at))
      const isRight = wanted.every(([at, want]) => isDeepStrictEqual(gotAt(at) ?? null, want))
      if (step.until === true && !isRight && Date.now() < deadline) {
        await later(QUIET_MS)
        continue
      }
      for (const [name, at] of Object.entries(step.save ?? {}))
        this.#names.set(name, String(valueAt(answer, at)))
      for (const [at, want] of wanted) this.#compare(`${step.do}: ${at}`, gotAt(at), want)
      return
    }
  }

  #compare(what: string, got: unknown, want: unknown): void {
    if (isDeepStrictEqual(got ?? null, want)) return
    this.differences.push(`${what} is ${JSON.stringify(got)}, wanted ${JSON.stringify(want)}`)
  }

  async #watch(step: Extract<Step, { watch: string }>): Promise<void> {
    const response = await fetch(this.#judged.url + this.#fill(step.watch), {
      headers: {
        authorization: `Bearer ${this.#judged.token}`,
        accept: step.accept ?? 'application/json',
      },
    })
    this.#compare(`${step.watch}: status`, response.status, step.status ?? 200)
    if (response.body !== null) this.#streams.set(step.as, new Stream(response.body))
  }

  async #events(step: Extract<Step, { events: string }>): Promise<void> {
    const stream = this.#streams.get(step.events)
    const got: string[] = []
    while (got.length < step.want.length) got.push((await stream?.next(PATIENCE_MS)) ?? 'no stream')
    if (step.want.length === 0) got.push((await stream?.next(QUIET_MS)) ?? 'no stream')
    const want = step.want.length === 0 ? ['silence'] : step.want.map(text => this.#fill(text))
    this.#compare(`events of ${step.events}`, got, want)
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return { text: text.trim() }
  }
}

/** Whether a row asks the server to forget. */
export const isAboutForgetting = ([, ...steps]: Row): boolean =>
  steps.some(step => 'forget' in step)

/** Run one row. @returns how the server differs from it; nothing when it does not. */
export const runRow = async (judged: Judged, row: Row): Promise<readonly string[]> => {
  const [, ...steps] = row
  const runner = new Runner(judged)
  try {
    for (const step of steps) await runner.step(step)
  } catch (error) {
    runner.differences.push(`broke off: ${reasonOf(error)}`)
  } finally {
    await runner.close()
  }
  return runner.differences
}

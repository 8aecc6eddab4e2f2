// SPDX-License-Identifier: Apache-2.0
import { MAX_REPORT_BYTES } from './local-info.js'

/** One server-sent event. */
export interface ServerEvent {
  readonly event: string
  readonly data: string
}

/** Splits a stream of server-sent events; comments and unused fields are skipped. */
export class EventReader {
  readonly #decoder = new TextDecoder()
  #pending = ''
  #event = ''
  #data: string[] = []
  /** Characters since the first line of `#data`. Lines that are skipped count: a line may keep in memory what it came with. */
  #length = 0

  /** @throws RangeError when an event does not end. */
  push(chunk: Uint8Array): readonly ServerEvent[] {
    const lines = (this.#pending + this.#decoder.decode(chunk, { stream: true })).split('\n')
    this.#pending = lines.pop()!
    const events = lines.flatMap(line => this.#line(line.endsWith('\r') ? line.slice(0, -1) : line))
    if (this.#length + this.#pending.length > MAX_REPORT_BYTES)
      throw new RangeError(`an event is longer than ${MAX_REPORT_BYTES} characters`)
    return events
  }

  #line(line: string): readonly ServerEvent[] {
    if (line === '') return this.#flush()
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? []
    if (field === 'event') this.#event = value
    if (field === 'data') this.#data.push(value)
    if (this.#data.length > 0) this.#length += line.length + 1
    return []
  }

  #flush(): readonly ServerEvent[] {
    const events =
      this.#data.length === 0
        ? []
        : [{ event: this.#event || 'message', data: this.#data.join('\n') }]
    this.#event = ''
    this.#data = []
    this.#length = 0
    return events
  }
}

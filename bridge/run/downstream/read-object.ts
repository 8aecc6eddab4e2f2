// SPDX-License-Identifier: Apache-2.0
import type { JsonMap } from '../../../core/json.js'
import { printOf } from '../../model/merge/change.js'
import { tidyObject } from '../../model/merge/tidy.js'
import type { Held, Place } from '../../model/record/held.js'
import { metadataText } from './views.js'

/** An object that was read for nodes. What it takes time to make is made once for all of them, when the first one needs it. */
export class ReadObject {
  readonly raw: JsonMap
  readonly uid: string
  readonly #place: Place
  #held: Held | undefined
  #text: string | undefined

  constructor({ type, namespace, name }: Place, raw: JsonMap) {
    this.#place = { type, namespace, name }
    this.raw = raw
    this.uid = metadataText(raw, 'uid')
  }

  /** What a node holds that has stored it. */
  get held(): Held {
    const { raw } = this
    const version = metadataText(raw, 'resourceVersion')
    return (this.#held ??= { ...this.#place, version, print: printOf(this.#place.type, raw) })
  }

  /** As JSON in the form that edges are sent. */
  get text(): string {
    return (this.#text ??= JSON.stringify(tidyObject(this.#place.type, this.raw)))
  }

  /** Characters that each node may be sent; 0 while none needed them. */
  get length(): number {
    return this.#text?.length ?? 0
  }
}

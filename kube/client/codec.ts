// SPDX-License-Identifier: Apache-2.0
import type { WatchEvent } from './watch-event.js'

/** A part of a list. */
export interface Page<R> {
  readonly items: readonly R[]
  /** '' where the server does not say. */
  readonly version: string
  /** Empty on the last page. */
  readonly next: string
  /** Of the list, as the server spells it; undefined where it says nothing of the objects. */
  readonly kind?: string | undefined
}

/** A body and what its headers say of it. */
export interface TypedBody {
  /** `Content-Type`; '' when the server did not say. */
  readonly type: string
  /** `Warning`. */
  readonly warning?: string | undefined
  /** `Date`: when it was made; a cache between us and the server may have stored it. */
  readonly date?: string | undefined
  readonly bytes: Buffer
}

/** Splits the stream of a watch into its events. */
export interface EventReader<R> {
  /**
   * The events that this chunk completes.
   * @throws KubeStatusError for an ERROR event, BrokenStreamError for anything but an event.
   */
  push(chunk: Buffer): Iterable<WatchEvent<R>>
  /** Bytes of an event that has not ended yet. */
  readonly pending: number
}

/** The parts of a body that tell how to read it. */
export type ReadableBody = Pick<TypedBody, 'type' | 'bytes'>

/** A refusal as the JSON of a `Status`; undefined where it came as JSON, or as text. Never throws. */
export type ReadRefusal = (body: ReadableBody) => Readonly<Record<string, unknown>> | undefined

/** How lists and watches are written; `R` is an object as it comes. */
export interface Codec<R> {
  readonly accept: { readonly list: string; readonly watch: string }
  /** @throws KubeUnreachableError for anything but a list. */
  parsePage(path: string, body: TypedBody): Page<R>
  /** @default refusals are JSON, whatever was asked for */
  readonly readRefusal?: ReadRefusal
  /** @param type the answer's `Content-Type` */
  makeReader(what: string, type: string): EventReader<R>
  /** `namespace/name`, or `name` for a cluster-wide object; '' when it has no name. */
  keyOf(raw: R): string
}

/** A watch sent something that is not an event: what follows cannot be trusted, so the next step is a full list. */
export class BrokenStreamError extends Error {}

/** The server answered with something that is not a list, or with one that is too large: so the server is there. */
export class UnusableListError extends Error {}

// SPDX-License-Identifier: Apache-2.0
// What a run may do. {ns} and {side} stand for a namespace and an ending of each side's own.
import type { Random } from '../../../../core/random.js'
import type { Resource } from './objects.js'
import type { RawCall } from './raw-call.js'

/** A write that begins with reading the object, on each side through its own door. */
export interface Rewrite {
  readonly resource: Resource
  readonly name: string
  /** `put` changes a label; `put back` sends what was read; the others name the version that was read. */
  readonly how:
    'put' | 'put back' | 'merge patch' | 'json patch' | 'json patch with version' | 'delete'
  readonly form: 'json' | 'protobuf'
}

export type Step =
  | { readonly kind: 'call'; readonly what: string; readonly call: RawCall }
  | { readonly kind: 'rewrite'; readonly what: string; readonly rewrite: Rewrite }
  /** Sent to the wrapper alone, and broken off. */
  | { readonly kind: 'broken off'; readonly what: string; readonly call: RawCall }
  /** No HTTP at all, to the wrapper alone. */
  | { readonly kind: 'noise'; readonly what: string; readonly bytes: Buffer }
  | { readonly kind: 'health'; readonly what: string; readonly node: string }

/** Nodes on which endpoints run; the wrapper runs on the first. */
export const PLACES = ['n-0', 'n-1', 'n-2', 'n-3'] as const

export const JSON_TYPE = 'application/json'
export const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf'

export const maybe = (random: Random, percent: number): boolean => random.below(100) < percent

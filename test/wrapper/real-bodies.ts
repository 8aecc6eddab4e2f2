// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonMap } from '../../wrapper/wire/kinds.js'

/** The same answer of a real kube-apiserver in both encodings. */
export interface Body {
  readonly name: string
  readonly json: JsonMap & { readonly items?: readonly JsonMap[] }
  readonly protobuf: Uint8Array
}

/** The same watch in both encodings. */
export interface Stream {
  readonly name: string
  readonly events: readonly { readonly type: string; readonly object: JsonMap }[]
  readonly protobuf: Uint8Array
}

interface RealBodies {
  /** What answered: `Kubernetes v1.36.3`. */
  readonly from: string
  readonly bodies: readonly Body[]
  readonly lists: readonly Body[]
  readonly streams: readonly Stream[]
}

const file = join(import.meta.dirname, 'wire/real-bodies.json')

/** What test/wrapper/wire/capture.mjs wrote. */
export const realBodies = JSON.parse(readFileSync(file, 'utf8'), (key, value: unknown) =>
  key === 'protobuf' ? Buffer.from(String(value), 'base64') : value,
) as RealBodies

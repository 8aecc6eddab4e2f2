// SPDX-License-Identifier: Apache-2.0
import { KubeUnreachableError } from '../../core/errors.js'
import { BrokenStreamError, type Codec, type EventReader } from '../../kube/client/codec.js'
import type { WatchEvent } from '../../kube/client/watch-event.js'
import { isOurs } from '../store/versions.js'

const troubleIn = (version: string): string | undefined =>
  isOurs(Number(version))
    ? `the server must be the apiserver, but resourceVersion ${version} is a wrapper's`
    : undefined

class CheckedReader<R> implements EventReader<R> {
  readonly #reader: EventReader<R>

  constructor(reader: EventReader<R>) {
    this.#reader = reader
  }

  get pending(): number {
    return this.#reader.pending
  }

  *push(chunk: Buffer): Iterable<WatchEvent<R>> {
    for (const event of this.#reader.push(chunk)) {
      const trouble = troubleIn(event.version)
      if (trouble !== undefined) throw new BrokenStreamError(trouble)
      yield event
    }
  }
}

/**
 * The same codec, but it refuses lists and events that a wrapper has served, this one itself or another node's: what was left
 * out of them would be taken for deleted, and never come back.
 */
export const apiserverCodec = <R>(codec: Codec<R>): Codec<R> => ({
  ...codec,
  parsePage: (path, body) => {
    const page = codec.parsePage(path, body)
    const trouble = troubleIn(page.version)
    if (trouble !== undefined) throw new KubeUnreachableError(`GET ${path}`, trouble)
    return page
  },
  makeReader: (what, type) => new CheckedReader(codec.makeReader(what, type)),
})

// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { parseJson, parseWith } from '../../core/parse.js'
import { HISTORY_KINDS } from '../http/history-view.js'
import { CAPACITY, NODES_NAMED, NOTE_CHARACTERS, type HistoryEntry } from './ring.js'

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
/** Names of Nodes have at most 253 characters. */
const word = v.pipe(v.string(), v.maxLength(253))

const schema = v.object({
  version: v.literal(1),
  entries: v.pipe(
    v.array(
      v.object({
        ...{ id: count, at: v.number(), count, from: v.nullable(word), to: word },
        kind: v.picklist(HISTORY_KINDS),
        nodes: v.pipe(v.array(word), v.maxLength(NODES_NAMED)),
        note: v.pipe(v.string(), v.maxLength(NOTE_CHARACTERS)),
      }),
    ),
    v.maxLength(CAPACITY),
    v.check(
      entries => entries.every(({ id }, index) => id > (entries[index - 1]?.id ?? 0)),
      'must have growing ids',
    ),
  ),
})

/** Monotonic and wall clock at one moment: times on disk are of the wall clock. */
export interface Now {
  readonly now: number
  readonly wall: number
}

/** What `parseHistory` reads, as text. */
export const saveHistory = (entries: readonly HistoryEntry[], { now, wall }: Now): string =>
  JSON.stringify({
    version: 1,
    entries: entries.map(entry => ({ ...entry, at: Math.round(wall - (now - entry.at)) })),
  })

/**
 * Entries of an earlier run. None lies in the future: a machine without a clock of its own boots in 1970.
 * @throws InvalidInputError when the text is broken.
 */
export const parseHistory = (text: string, { now, wall }: Now): readonly HistoryEntry[] => {
  const thing = 'remembered history'
  const { entries } = parseWith(schema, thing, parseJson(thing, text))
  return entries.map(entry => ({ ...entry, at: now - Math.max(0, wall - entry.at) }))
}

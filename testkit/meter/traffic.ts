// SPDX-License-Identifier: Apache-2.0
import { KINDS } from './connection.js'
import type { Direction, Entry, Sum } from './ledger.js'

const DAY_S = 86_400

const sameRow = (a: Entry, b: Entry): boolean =>
  a.end === b.end && a.direction === b.direction && a.kind === b.kind

/** What came between two readings of one ledger. */
export const between = (from: readonly Entry[], to: readonly Entry[]): readonly Entry[] =>
  to.map(entry => {
    const before = from.find(one => sameRow(one, entry))
    return {
      ...entry,
      packets: entry.packets - (before?.packets ?? 0),
      bytes: entry.bytes - (before?.bytes ?? 0),
    }
  })

/** Which entries to add up; what is not named is all of it. */
export interface Which {
  readonly end?: string
  readonly direction?: Direction
  readonly kind?: Entry['kind']
}

/** Packets and bytes of those entries together. */
export const sumOf = (entries: readonly Entry[], which: Which = {}): Sum =>
  entries
    .filter(
      ({ end, direction, kind }) =>
        end === (which.end ?? end) &&
        direction === (which.direction ?? direction) &&
        kind === (which.kind ?? kind),
    )
    .reduce(
      (sum, { packets, bytes }) => ({ packets: sum.packets + packets, bytes: sum.bytes + bytes }),
      { packets: 0, bytes: 0 },
    )

/** Megabytes (10⁶) of a day that goes on like these seconds. */
export const megabytesADay = (bytes: number, seconds: number): number =>
  (bytes * DAY_S) / seconds / 1e6

/** The heading of {@link trafficRows}. */
export const TRAFFIC_HEAD = [
  ...['other end', 'what', 'sent B/s', 'packets/s', 'got B/s', 'packets/s', 'MB a day'],
] as const

const one = (value: number, digits: number): string => value.toFixed(digits)

const rowOf = (
  entries: readonly Entry[],
  seconds: number,
  end: string,
  kind?: Entry['kind'],
): readonly string[] => {
  const only = { end, ...(kind === undefined ? {} : { kind }) }
  const sent = sumOf(entries, { ...only, direction: 'sent' })
  const received = sumOf(entries, { ...only, direction: 'received' })
  return [
    kind === undefined ? end : '',
    kind ?? 'all',
    one(sent.bytes / seconds, 1),
    one(sent.packets / seconds, 2),
    one(received.bytes / seconds, 1),
    one(received.packets / seconds, 2),
    one(megabytesADay(sent.bytes + received.bytes, seconds), 2),
  ]
}

/** Per other end a row for all of it, then one for each kind that occurred, as text. */
export const trafficRows = (
  entries: readonly Entry[],
  seconds: number,
): readonly (readonly string[])[] =>
  [...new Set(entries.map(({ end }) => end))]
    .sort()
    .flatMap(end => [
      rowOf(entries, seconds, end),
      ...KINDS.filter(kind => sumOf(entries, { end, kind }).packets > 0).map(kind =>
        rowOf(entries, seconds, end, kind),
      ),
    ])

// SPDX-License-Identifier: Apache-2.0
import { groupBy } from '../../core/group-by.js'
import { listed } from '../../core/text.js'
import type { EventRecorder } from '../../controller/event-recorder.js'
import type { EventText } from '../../controller/event-series.js'
import { objectOf, type Operation } from '../model/decide.js'
import { GRID_API } from '../model/grid.js'
import type { Hold } from '../model/guard.js'
import type { UnitFailure } from '../model/status.js'
import { CONFIRM_ANNOTATION } from '../model/marks.js'
import type { GridMemory } from './grid-memory.js'
import type { GridRecord } from './grid-record.js'

/** Names that an Event spells out. */
const MOST_NAMES = 5

/** What was done to children, one Event per kind of operation. */
const doneWords = (done: readonly Operation[]): readonly EventText[] => {
  const words: EventText[] = []
  const add = (reason: string, action: string, what: string, of: readonly Operation[]): void => {
    if (of.length > 0)
      words.push({
        type: 'Normal',
        reason,
        action,
        note: `${what} ${listed(of.map(objectOf), MOST_NAMES)}`,
      })
  }
  const applies = done.filter(operation => operation.kind === 'apply')
  add(
    'Created',
    'Apply',
    'made',
    applies.filter(({ target }) => target.kind === 'new'),
  )
  add(
    'TakenOver',
    'Apply',
    "took over from SuperEdge's controller",
    applies.filter(({ takeover }) => takeover !== undefined),
  )
  add(
    'Adopted',
    'Apply',
    'adopted',
    applies.filter(({ target }) => target.kind === 'adopted'),
  )
  add(
    'Updated',
    'Apply',
    'updated',
    applies.filter(({ target, takeover }) => target.kind === 'ours' && takeover === undefined),
  )
  const deletes = done.filter(operation => operation.kind === 'delete')
  add(
    'UnitRemoved',
    'Delete',
    'its unit has no nodes any more: deleted',
    deletes.filter(({ why }) => why === 'unit-gone'),
  )
  add(
    'ChildReplaced',
    'Delete',
    'not wanted any more: deleted',
    deletes.filter(({ why }) => why === 'replaced'),
  )
  return words
}

/** Sends Events about what was done for grids and what is wrong with them; a lasting problem is reported once. */
export class GridEvents {
  readonly #events: Pick<EventRecorder, 'record'>

  constructor(events: Pick<EventRecorder, 'record'>) {
    this.#events = events
  }

  done(record: GridRecord, operations: readonly Operation[]): void {
    for (const words of doneWords(operations)) this.#send(record, words)
  }

  /** One Event per reason; it names the first units, and the message of the first. */
  failures(record: GridRecord, memory: GridMemory, failures: readonly UnitFailure[]): void {
    const byReason = groupBy(failures, ({ reason }) => reason)
    for (const reason of memory.said.keys())
      if (reason !== 'Held' && !byReason.has(reason)) memory.said.delete(reason)
    for (const [reason, list] of byReason) {
      const units = list.flatMap(({ unit }) => unit ?? [])
      const where =
        units.length === 0
          ? ''
          : `${units.length === 1 ? 'unit' : 'units'} ${listed(units, MOST_NAMES)}: `
      this.#once(record, memory, {
        ...{ type: 'Warning', reason, action: 'Apply' },
        note: `${where}${list[0]!.message}`,
      })
    }
  }

  held(record: GridRecord, memory: GridMemory, hold: Hold | undefined): void {
    if (hold === undefined) {
      memory.said.delete('Held')
      return
    }
    const { units, total, token } = hold
    this.#once(record, memory, {
      ...{ type: 'Warning', reason: 'Held', action: 'Delete' },
      note: `${units.length} of ${total} units have no node, so nothing is deleted: ${listed(units, MOST_NAMES)}; to delete their children, set the annotation ${CONFIRM_ANNOTATION}: "${token}"`,
    })
  }

  #once(record: GridRecord, memory: GridMemory, words: EventText): void {
    if (memory.said.get(words.reason) === words.note) return
    memory.said.set(words.reason, words.note)
    this.#send(record, words)
  }

  #send({ kind, namespace, name, uid }: GridRecord, words: EventText): void {
    this.#events.record({ apiVersion: GRID_API, kind, namespace, name, uid }, words)
  }
}

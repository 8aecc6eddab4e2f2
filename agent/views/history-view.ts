// SPDX-License-Identifier: Apache-2.0
import type { HistoryEntry } from '../history/ring.js'
import type { HistoryEntryView } from '../http/history-view.js'
import { historyText } from '../text/history-text.js'
import type { Times } from './times.js'

/** An entry as `/history` shows it. */
export const historyEntryView = (entry: HistoryEntry, times: Times): HistoryEntryView => {
  const { id, at, kind, nodes, count, from, to } = entry
  return { id, at: times.iso(at)!, kind, nodes, count, from, to, text: historyText(entry) }
}

// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../../core/ids.js'
import type { SelfReport } from '../../../plugins/seams.js'
import { FLAG } from '../../../vote/evidence.js'
import type { RecordTable } from '../../records/table.js'

const KUBELET_BITS = FLAG.kubeletBad | FLAG.kubeletWell

/** What a node says about its own kubelet, if it said so since `sinceAt`. */
export const reportOf = (table: RecordTable, name: string, sinceAt: number): SelfReport => {
  const index = table.roster.indexOf(name)
  if (index === undefined) return 'unknown'
  const flags = table.producedAt[index]! > sinceAt ? table.flags[index]! : 0
  if ((flags & FLAG.kubeletBad) !== 0) return 'bad'
  return (flags & FLAG.kubeletWell) === 0 ? 'unknown' : 'well'
}

/** What the members of one roster last said of their kubelets, to notice a change. */
export class KubeletReports {
  readonly #table: RecordTable
  readonly #seen: Uint8Array

  constructor(table: RecordTable) {
    this.#table = table
    this.#seen = table.flags.map(flags => flags & KUBELET_BITS)
  }

  /** The other members whose report has changed. */
  changed(): readonly NodeName[] {
    const { size, self, flags, roster } = this.#table
    const changed: NodeName[] = []
    for (let index = 0; index < size; index++) {
      const bits = flags[index]! & KUBELET_BITS
      if (bits === this.#seen[index]) continue
      this.#seen[index] = bits
      if (index !== self) changed.push(roster.members[index]!.name)
    }
    return changed
  }
}

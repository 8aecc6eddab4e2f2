// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import type { RosterMember } from '../../../core/roster.js'
import type { VoteOptions } from '../../../vote/options.js'
import type { RecordTable } from '../../records/table.js'
import type { ZoneState } from '../../results.js'
import { BackupObservers } from './backup-observers.js'
import { Interest } from './interest.js'

/** The members that this node probes: by the topology, as a backup observer, and because a program on it depends on them. */
export class Targets {
  readonly #clock: Clock
  readonly #options: VoteOptions
  readonly #interest: Interest
  #backups = new BackupObservers()
  /** Members that are probed though the topology does not ask for it. */
  #extra: ReadonlySet<NodeName> = new Set()

  constructor(clock: Clock, options: VoteOptions) {
    this.#clock = clock
    this.#options = options
    this.#interest = new Interest(clock)
  }

  /** Another roster: its backup observers are found anew. */
  reset(): void {
    this.#backups = new BackupObservers()
  }

  /** A program on this node depends on these, which root or our own user runs, or another. @returns whether there may be other targets now. */
  ask(names: readonly string[], isTrusted: boolean): boolean {
    return this.#interest.ask(names, isTrusted)
  }

  /** Called after each vote and at `dueAt`. @returns whether there may be other targets now. */
  review({ table, judgement }: ZoneState): boolean {
    if (table.topology.kind === 'mesh') return false
    const scene = { table, judgement, now: this.#clock.now(), options: this.#options }
    const isChange = this.#backups.review(scene)
    return this.#interest.expire() || isChange
  }

  /** When to review them again although there was no vote, by `Clock.now`; +Infinity when that is not needed. */
  get dueAt(): number {
    return this.#backups.dueAt(this.#options)
  }

  /** All members to probe, and the extra ones that are no longer to be probed. */
  list({ roster, topology }: RecordTable): {
    readonly targets: readonly RosterMember[]
    readonly ended: readonly NodeName[]
  } {
    const { members, self } = roster
    const indices = new Set<number>(topology.targetsOf(self))
    const asked = this.#interest.names.flatMap(name => roster.indexOf(name) ?? [])
    const extra = new Set<NodeName>()
    for (const index of [...this.#backups.active, ...asked]) {
      if (index === self || indices.has(index)) continue
      indices.add(index)
      extra.add(members[index]!.name)
    }
    const ended = [...this.#extra].filter(name => !extra.has(name))
    this.#extra = extra
    return { targets: Array.from(indices, index => members[index]!), ended }
  }
}

// SPDX-License-Identifier: Apache-2.0
import { FLAG } from '../../../vote/evidence.js'
import type { KnownStatement } from '../../identity/entries.js'
import { QUARTER_MS, type Statement } from '../../identity/statement.js'

/** Changes of these are worth a push; the others travel with the next exchange. */
export const PUSHED_FLAGS = FLAG.selfSuspect | FLAG.kubeletBad | FLAG.leaving | FLAG.cloudCut

type Said = Pick<Statement, 'flags' | 'down' | 'standsInFor' | 'membershipHash'>

/** A member of which nothing was heard is taken to have said that all is well. */
const ALL_WELL: Said = { flags: 0, down: [], standsInFor: [], membershipHash: 0n }

const isSameList = (a: readonly bigint[], b: readonly bigint[]): boolean =>
  a.length === b.length && a.every((id, at) => id === b[at])

/** A backup observer's votes count only for agents with the same roster: after a change these wait for its new statement. */
const isBackupElsewhere = (before: Said, said: Said): boolean =>
  said.standsInFor.length > 0 && before.membershipHash !== said.membershipHash

/**
 * Whether a statement says something that others must hear at once. Not urgent, since the next exchange brings it: a
 * repeated statement (new chain or restart); one for another roster whose author backs up nobody; targets not looked at yet.
 */
const isWorthPush = (before: Said, said: Said): boolean =>
  ((before.flags ^ said.flags) & PUSHED_FLAGS) !== 0 ||
  !isSameList(before.down, said.down) ||
  !isSameList(before.standsInFor, said.standsInFor) ||
  isBackupElsewhere(before, said)

/**
 * Since when a member says what others must hear at once.
 * @param before the statement that was known until now, with since when it said so
 */
export const urgentSince = (
  before: Statement | undefined,
  { received, progress, madeAt }: KnownStatement,
  { urgentSince: known, now }: { readonly urgentSince: number; readonly now: number },
): number => {
  if (!isWorthPush(before ?? ALL_WELL, received.statement)) return known
  // An agent that has just started hears everything for the first time, even what was said long ago.
  return before === undefined ? madeAt - progress.quarters * QUARTER_MS : now
}

// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../core/ids.js'
import { describeUncounted } from '../../plan/messages.js'
import { explanationOf, type Explanation, type VoterSays } from '../../vote/explanation.js'
import type { Moment } from '../../vote/moment.js'
import type { MatrixView, MatrixVoter } from '../http/matrix-view.js'
import type { Evidence } from '../../vote/evidence.js'
import type { Judgement } from '../../vote/judgement.js'

/** In a larger zone only nodes with trouble are shown. */
const WHOLE = 64
const MOST = 64

const LETTERS = { up: 'u', down: 'd', 'not-looked': 'n' } as const

const letterOf = ({ says, uncounted }: VoterSays): string =>
  uncounted === 'not-reaffirmed' ? 'o' : LETTERS[says]

/** Marks of one cell alone; the others say something of the voter. */
const OF_ONE_CELL: readonly unknown[] = [undefined, 'not-reaffirmed', 'not-looked']

const isTroubled = ({ verdict, pending, class: name, down, notLooked, local }: Explanation) =>
  verdict !== 'healthy' ||
  pending !== 'undecided' ||
  name !== 'healthy' ||
  local === 'down' ||
  down + notLooked > 0

/** How bad it looks: condemned nodes, then by the votes against them. */
const badness = ({ verdict, pending, class: name, down }: Explanation): number =>
  (verdict === 'unhealthy' || pending === 'unhealthy' ? 1e6 : 0) +
  (name === 'healthy' ? 0 : 1e5) +
  down

interface Row {
  readonly letters: Map<number, string>
  readonly ageMs: number
  readonly why: string | null
}

/** What each voter says about these targets. */
const rowsOf = (targets: readonly Explanation[]): Map<number, Row> => {
  const rows = new Map<number, Row>()
  for (const { index, voters } of targets)
    for (const voter of voters) {
      const { uncounted, ageMs } = voter
      const why = OF_ONE_CELL.includes(uncounted) ? null : describeUncounted(uncounted!)
      const row = rows.get(voter.voter) ?? { letters: new Map<number, string>(), ageMs, why }
      rows.set(voter.voter, row)
      if (uncounted !== 'unheard') row.letters.set(index, letterOf(voter))
    }
  return rows
}

/** What the matrix is made from. */
interface Votes {
  readonly roster: {
    readonly members: readonly { readonly name: NodeName }[]
    readonly self: number
  }
  readonly judgement: Judgement
  readonly table: Evidence
}

/** Who says what about whom, as of the last judging. */
export const matrixOf = (
  { roster, judgement, table }: Votes,
  at: Moment & { readonly wall: number },
  roundTripMs: (name: NodeName) => number | undefined,
): MatrixView => {
  const { members, self } = roster
  const isPartial = members.length > WHOLE
  const nameOf = (index: number): NodeName => members[index]!.name
  const targets = members
    .map((_, index) => explanationOf(judgement, table, index, at))
    .filter(explanation => !isPartial || isTroubled(explanation))
    .sort((a, b) => badness(b) - badness(a) || (nameOf(a.index) < nameOf(b.index) ? -1 : 1))
    .slice(0, MOST)
  const rows = rowsOf(targets)
  const order = [...rows.keys()].sort((a, b) => {
    if (a === self || b === self) return a === self ? -1 : 1
    return nameOf(a) < nameOf(b) ? -1 : 1
  })
  const voters = order.slice(0, MOST).map((voter): MatrixVoter => {
    const { letters, ageMs, why } = rows.get(voter)!
    return {
      name: nameOf(voter),
      ageSeconds: Number.isFinite(ageMs) ? ageMs / 1_000 : null,
      why,
      says: targets.map(({ index }) => letters.get(index) ?? '-').join(''),
    }
  })
  const roundTripSeconds = targets.map(({ index }) => {
    const ms = roundTripMs(nameOf(index))
    return ms === undefined ? null : ms / 1_000
  })
  return {
    at: new Date(at.wall).toISOString(),
    ...{ members: members.length, isPartial },
    targets: targets.map(({ index }) => nameOf(index)),
    ...{ roundTripSeconds, voters },
  }
}

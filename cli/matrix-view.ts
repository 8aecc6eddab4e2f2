// SPDX-License-Identifier: Apache-2.0
// How each node votes on each other node: a line for each node that is judged, a column for each voter.
import { classColour, looksDead } from '../agent/text/headline.js'
import type { ExplainView, NodeClassName, VoterView } from '../agent/http/status-view.js'
import { clean, type Colour, type Paint } from '../core/text.js'

/** One vote. `self`: a node does not vote on itself. `none`: it has no vote about the node. */
export type MatrixSays = VoterView['says'] | 'self' | 'none'

export interface MatrixCell {
  readonly says: MatrixSays
  readonly counts: boolean
  readonly ageSeconds: number | null
}

export interface MatrixRow {
  readonly node: string
  readonly class: NodeClassName
  readonly isDead: boolean
  /** In the order of `voters`. */
  readonly votes: readonly MatrixCell[]
}

/** The JSON of `matrix`. */
export interface Matrix {
  readonly at: string
  readonly zone: string
  readonly seenFrom: string
  /** By name. */
  readonly voters: readonly string[]
  readonly rows: readonly MatrixRow[]
}

const cellOf = (voter: string, { node }: ExplainView): MatrixCell => {
  if (voter === node.name) return { says: 'self', counts: false, ageSeconds: null }
  const vote = node.voters.find(({ name }) => name === voter)
  if (vote === undefined) return { says: 'none', counts: false, ageSeconds: null }
  return { says: vote.says, counts: vote.counts, ageSeconds: vote.ageSeconds }
}

/** @param voters all members by name @param views one for each row, of which the last is the newest */
export const matrixOf = (voters: readonly string[], views: readonly ExplainView[]): Matrix => {
  const last = views.at(-1)
  return {
    at: last?.at ?? '',
    zone: last?.zone.name ?? '',
    seenFrom: last?.self.name ?? '',
    voters,
    rows: views.map(view => ({
      ...{ node: view.node.name, class: view.node.class, isDead: looksDead(view.node) },
      votes: voters.map(voter => cellOf(voter, view)),
    })),
  }
}

const SIGNS: Readonly<Record<MatrixSays, string>> = {
  up: '.',
  down: 'D',
  'not-looked': '?',
  nothing: ' ',
  none: ' ',
  self: '\\',
}

const signOf = ({
  says,
  counts,
}: MatrixCell): readonly [text: string, colour: Colour | undefined] => {
  if (says === 'down') return counts ? ['D', 'red'] : ['d', 'yellow']
  if (says === 'up' && !counts) return [',', 'yellow']
  return [SIGNS[says], undefined]
}

const LEGEND =
  '. up  D down  ? not looked  , and d: too old, or the voter does not count  \\ itself  blank: no vote'

/** The voters' numbers as column heads, written downwards. */
const header = (count: number): readonly string[] => {
  const width = String(count).length
  const numbers = Array.from({ length: count }, (_, index) => String(index + 1).padStart(width))
  return Array.from({ length: width }, (_, digit) => numbers.map(text => text[digit]!).join(' '))
}

/** For people. */
export const matrixText = ({ zone, seenFrom, voters, rows }: Matrix, paint: Paint): string => {
  const names = rows.map(({ node }) => `${voters.indexOf(node) + 1} ${clean(node)}`)
  const width = Math.max(0, ...names.map(name => name.length))
  const lines = rows.map(({ votes, class: name, isDead }, index) => {
    const cells = votes.map(vote => {
      const [text, colour] = signOf(vote)
      return colour === undefined ? text : paint(colour, text)
    })
    const colour = isDead ? 'red' : classColour[name]
    return `${names[index]!.padEnd(width)}  ${cells.join(' ')}  ${paint(colour, name)}`
  })
  const title = `zone ${zone === '' ? '(whole cluster)' : clean(zone)}, seen from ${clean(seenFrom)}: each line is a node, each column a voter`
  if (rows.length === 0) return `${title}\nno such nodes\n`
  const heads = header(voters.length).map(text => `${' '.repeat(width)}  ${text}`.trimEnd())
  return [title, LEGEND, '', ...heads, ...lines, ''].join('\n')
}

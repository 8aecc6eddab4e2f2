// SPDX-License-Identifier: Apache-2.0
import type { Taint } from '../../core/node.js'
import { UNHEALTHY_ANNOTATION } from '../../core/marks.js'
import { readyOf, taintsOf } from '../node-object.js'
import { liveNodes, type NodeSnapshot, statusOf, type ZoneSnapshot } from './snapshot.js'
import type { SitesView } from './sites.js'
import type { ClaimResult } from './stage.js'

/** Colours, or none. */
export type Paint = (colour: 'red' | 'yellow' | 'green' | 'dim' | 'bold', text: string) => string

const CODES = { red: 31, yellow: 33, green: 32, dim: 2, bold: 1 } as const

export const colours: Paint = (colour, text) => `\u001b[${CODES[colour]}m${text}\u001b[0m`
export const noColours: Paint = (_colour, text) => text

const HEADER = [
  'NODE',
  'PROCESS',
  '/LOCALINFO',
  'VERDICT',
  'VOTES',
  'CLOUD LINK',
  'READY',
  'WRITER',
  'TAINTS',
]

const shortTaint = (taint: Taint): string =>
  `${taint.key.replace(/^node\.kubernetes\.io\//, '')}:${taint.effect}`

/** `4 up`, or `1 up 3 down` while they differ. */
const localinfoCell = (snapshot: ZoneSnapshot, name: string): string => {
  const says = liveNodes(snapshot).map(node => node.localinfo?.get(name))
  const up = says.filter(isUp => isUp === true).length
  const down = says.filter(isUp => isUp === false).length
  return [up > 0 ? `${up} up` : '', down > 0 ? `${down} down` : ''].filter(Boolean).join(' ') || '-'
}

const processCell = (node: NodeSnapshot): string => {
  if (node.state !== 'running') return node.state
  return node.localinfo === undefined ? 'starting' : 'running'
}

/** The writer of what stands on the node now, or of what keeps it alive. */
const writerCell = (snapshot: ZoneSnapshot, name: string): string => {
  for (const { status } of liveNodes(snapshot)) {
    const node = status?.nodes.find(each => each.name === name)
    if (node?.vouch.state === 'active' && node.vouch.by !== null) return `${node.vouch.by} vouches`
    const by = node?.lastWrite?.by
    if (by !== undefined) return by
  }
  return '-'
}

const verdictCells = (
  snapshot: ZoneSnapshot,
  name: string,
): readonly [verdict: string, votes: string, link: string] => {
  const opinion = statusOf(snapshot, name)
  if (opinion === undefined) return ['-', '-', '-']
  const { down, up, needed } = opinion.votes
  const votes = `${up} up ${down} down, needs ${needed}`
  const verdict =
    opinion.class === opinion.verdict ? opinion.verdict : `${opinion.verdict} ${opinion.class}`
  return [verdict, votes, opinion.cloudCutSince === null ? 'up' : 'cut']
}

/** A node that does not run has no link, whatever its peers last heard of it. */
const cloudLinkCell = (node: NodeSnapshot, heard: string): string => {
  if (node.state !== 'running') return '-'
  return node.isCut && heard === '-' ? 'cut' : heard
}

const rowOf = (snapshot: ZoneSnapshot, node: NodeSnapshot): readonly string[] => {
  const [verdict, votes, link] = verdictCells(snapshot, node.name)
  const { object } = node
  const taints = object === undefined ? [] : taintsOf(object).map(shortTaint)
  const marks =
    object?.metadata.annotations?.[UNHEALTHY_ANNOTATION] === 'yes'
      ? [`${UNHEALTHY_ANNOTATION}=yes`]
      : []
  return [
    node.name,
    processCell(node),
    localinfoCell(snapshot, node.name),
    verdict,
    votes,
    cloudLinkCell(node, link),
    (object === undefined ? undefined : readyOf(object)?.status) ?? '-',
    writerCell(snapshot, node.name),
    [...marks, ...taints].join(' ') || '-',
  ]
}

const isQuiet = (row: readonly string[]): boolean =>
  row[1] === 'running' && row[3] === 'healthy' && row[6] === 'True' && row[8] === '-'

const colourOf = (row: readonly string[]): 'red' | 'yellow' | 'dim' | undefined => {
  if (row[1] === 'starting') return 'dim'
  if (row[3]?.startsWith('unhealthy') === true || row[6] === 'Unknown') return 'red'
  return isQuiet(row) ? undefined : 'yellow'
}

const widthsOf = (rows: readonly (readonly string[])[]): readonly number[] =>
  HEADER.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))

const lineOf = (row: readonly string[], widths: readonly number[]): string =>
  row
    .map((cell, column) => cell.padEnd(widths[column] ?? 0))
    .join('  ')
    .trimEnd()

/** `grids: web-north web-south, held; kube-proxy is sent edge-1 edge-3`. */
const sitesLine = ({ deployments, isHeld, sent }: SitesView): string =>
  `grids: ${deployments.map(({ name }) => name).join(' ') || 'none'}${isHeld ? ', held' : ''}; ` +
  `kube-proxy is sent ${sent?.join(' ') ?? 'nothing'}`

/** How much room there is. */
interface Room {
  readonly columns: number
  readonly rows: number
}

/** How many columns, from the first one on, have room. */
const columnsThatFit = (widths: readonly number[], room: number): number => {
  let used = -2
  const tooWide = widths.findIndex(width => (used += width + 2) > room)
  return tooWide === -1 ? widths.length : Math.max(1, tooWide)
}

/** A second line with what stands in the columns that have no room. */
const restOf = (row: readonly string[], columns: number): readonly string[] => {
  const rest = row.flatMap((cell, column) =>
    column < columns || cell === '-' ? [] : [`${HEADER[column]!.toLowerCase()} ${cell}`],
  )
  return rest.length === 0 ? [] : [`  ${rest.join(', ')}`]
}

/** How many of the rows fit, each of which has a line or two. */
const rowsThatFit = (drawn: readonly (readonly string[])[], fits: number): number => {
  let used = 0
  const tooMany = drawn.findIndex(lines => (used += lines.length) > fits)
  return tooMany === -1 ? drawn.length : Math.max(1, tooMany)
}

/** The zone as a table, a line per node; when there is no room for all, those without news are counted. */
export const drawZone = (snapshot: ZoneSnapshot, room: Room, paint: Paint): readonly string[] => {
  const rows = snapshot.nodes.map(node => rowOf(snapshot, node))
  const loud = rows.filter(row => !isQuiet(row))
  const fits = Math.max(1, room.rows - 2)
  const all = rows.length <= fits ? rows : loud.slice(0, fits)
  const widths = widthsOf([HEADER, ...all])
  const columns = columnsThatFit(widths, room.columns)
  const cut = (text: string): string => text.slice(0, room.columns)
  const drawn = all.map(row => {
    const colour = colourOf(row)
    const texts = [lineOf(row.slice(0, columns), widths), ...restOf(row, columns)].map(cut)
    return texts.map(text => (colour === undefined ? text : paint(colour, text)))
  })
  const shown = drawn.slice(0, rowsThatFit(drawn, fits))
  const lines = shown.flat()
  const hidden = rows.length - shown.length
  return [
    paint('bold', cut(lineOf(HEADER.slice(0, columns), widths))),
    ...lines,
    ...(hidden > 0 ? [paint('dim', `… and ${hidden} more`)] : []),
    ...(snapshot.sites === undefined ? [] : [cut(sitesLine(snapshot.sites))]),
  ]
}

/** Milliseconds for people. */
export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

/** The final account: scene, claim, time, outcome. */
export const drawResults = (results: readonly ClaimResult[], paint: Paint): readonly string[] => {
  const rows = results.map(result => [
    result.scene,
    result.claim,
    `${result.kind === 'stays' ? 'for ' : ''}${seconds(result.ms)}`,
    result.ok ? 'ok' : 'FAILED',
  ])
  const all = [['SCENE', 'CLAIM', 'TIME', ''], ...rows]
  const widths = [0, 1, 2].map(column => Math.max(...all.map(row => row[column]!.length)))
  return all.map((row, index) => {
    const text = lineOf(row, widths)
    if (index === 0) return paint('bold', text)
    return row[3] === 'ok' ? text : paint('red', text)
  })
}

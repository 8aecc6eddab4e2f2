// SPDX-License-Identifier: Apache-2.0
// What one agent may cost in the default profile.
import type { Row } from '../wrapper/table.js'
import type { Identity } from './belief.js'
import { figuresOf, type LinkTraffic } from './link.js'

/** What a zone of exactly this size must keep to. */
interface Bars {
  readonly sentToZonePerSecond: number
  readonly cloudMegabytesADay: number
  readonly cpuMsPerSecond: { readonly off: number; readonly signed: number }
  readonly rssMiB: number
  /** Of members that sign with keys of their own. */
  readonly bodyBytesPerSecond: number
}

const BARS: ReadonlyMap<number, Bars> = new Map(
  (
    [
      [10, 900, 8, [5, 5.5], 70, 120],
      [100, 1_500, 14, [6, 6.5], 70, 500],
      [1_000, 4_500, 14, [8, 9.5], 75, 2_900],
    ] as const
  ).map(([nodes, sent, cloud, [off, signed], rssMiB, bodies]) => [
    nodes,
    {
      sentToZonePerSecond: sent,
      cloudMegabytesADay: cloud,
      cpuMsPerSecond: { off, signed },
      rssMiB,
      bodyBytesPerSecond: bodies,
    },
  ]),
)

/** Of a shorter run the cloud link is not judged: it would make a day of what comes at a start. */
const CLOUD_MINUTES = 12

/** One bar and what was measured. */
export interface BarRow extends Row {
  /** A run that misses it has failed. Bytes are alike on all machines, time and memory are not. */
  readonly isBinding: boolean
}

/** How a run was made. */
export interface RunOrder {
  readonly profile: string
  readonly identity: Identity
  /** Its whole length, with what is for settling. */
  readonly minutes: number
}

/** What is judged of a run. */
export interface Judged {
  readonly nodes: number
  readonly cpuMsPerSecond: number
  readonly rssMiB: number
  readonly bodyBytesPerSecond: number
  /** Undefined where nothing was counted at the interface. */
  readonly link: LinkTraffic | undefined
}

interface Figure {
  readonly what: string
  readonly unit: string
  readonly digits: number
  readonly bar: number
  /** Undefined: it was not counted. */
  readonly measured: number | undefined
  readonly isBinding: boolean
  readonly verdict?: string | undefined
}

const rowOf = (
  nodes: number,
  { what, unit, digits, bar, measured, isBinding, verdict }: Figure,
): BarRow => ({
  what: `N=${nodes}, ${what}`,
  bar: `≤ ${bar} ${unit}`,
  measured: measured === undefined ? '-' : `${measured.toFixed(digits)} ${unit}`,
  isMet: measured === undefined ? undefined : measured <= bar,
  verdict: measured === undefined ? undefined : verdict,
  isBinding,
})

/** Each figure of a run that has a bar; none for other sizes and profiles. */
export const barRows = (
  run: Judged,
  { profile, identity, minutes }: RunOrder,
): readonly BarRow[] => {
  const bars = profile === 'default' ? BARS.get(run.nodes) : undefined
  if (bars === undefined) return []
  const link = run.link === undefined ? undefined : figuresOf(run.link)
  const isSigned = identity !== 'off'
  const isShort = minutes < CLOUD_MINUTES
  const figures: readonly Figure[] = [
    {
      ...{ what: 'sent to peers and kubelets', unit: 'B/s', digits: 0, isBinding: true },
      ...{ bar: bars.sentToZonePerSecond, measured: link?.sentToZonePerSecond },
    },
    {
      ...{ what: 'cloud link', unit: 'MB a day', digits: 1, isBinding: !isShort },
      verdict: isShort ? `start: ${CLOUD_MINUTES} min wanted` : undefined,
      ...{ bar: bars.cloudMegabytesADay, measured: link?.cloudMegabytesADay },
    },
    ...(isSigned
      ? [
          {
            ...{ what: 'bodies of messages', unit: 'B/s', digits: 0, isBinding: true },
            ...{ bar: bars.bodyBytesPerSecond, measured: run.bodyBytesPerSecond },
          },
        ]
      : []),
    {
      ...{ what: 'CPU', unit: 'ms/s', digits: 1, isBinding: false },
      ...{ bar: bars.cpuMsPerSecond[isSigned ? 'signed' : 'off'], measured: run.cpuMsPerSecond },
    },
    {
      ...{ what: 'RSS', unit: 'MiB', digits: 1, isBinding: false },
      ...{ bar: bars.rssMiB, measured: run.rssMiB },
    },
  ]
  return figures.map(figure => rowOf(run.nodes, figure))
}

/** Whether one was missed that must not be. */
export const isFailed = (rows: readonly BarRow[]): boolean =>
  rows.some(({ isMet, isBinding }) => isBinding && isMet === false)

// SPDX-License-Identifier: Apache-2.0
// How soon the kernels forget a dead node, again and again, with the agents' ordinary periods.
import type { Cell, Evidence, Roles, Step } from '../cell.js'
import { becomes, fault } from '../cells/steps.js'
import { goneWithin } from './evidence.js'
import { accounts, lanesOf } from './lanes.js'
import {
  type Cast,
  castOf,
  cutCloud,
  dies,
  forgotten,
  known,
  mended,
  nothingFails,
  opened,
  returns,
  wrapped,
} from './steps.js'
import type { Lab } from '../lab.js'

const TRIALS = 10
/** The agents' rounds repeat in this time. */
const PHASE_MS = 10_000
const GOLDEN = 0.618_034
const PATIENCE_MS = 25_000
const BARS = { p50: 6_000, p99: 10_000 }

const PLANS = [
  wrapped('iptables', 'streamed'),
  wrapped('nftables', 'plain'),
  wrapped('iptables', 'plain'),
] as const

/** Four nodes have kube-proxy; all others die, one after the other. */
const castsOf = ([direct, one, two, three, ...victims]: Roles): readonly Cast[] => {
  const [first = '', ...others] = victims
  const cast = castOf([first, direct!, one!, two!, three!], PLANS)
  const plans = new Map([...cast.plans, ...others.map(name => [name, undefined] as const)])
  const shops = [two!, three!, ...victims]
  return victims.map(name => ({ ...cast, plans, shops, dies: name }))
}

/** Faults come at any phase of the agents' rounds, spread evenly. */
const waited = (nth: number): Step =>
  fault('some time passes', lab => lab.pause(((nth * GOLDEN) % 1) * PHASE_MS))

/** From each death until each kernel had forgotten it, in order of size; what was not forgotten is left out. */
const timesOf = ({ proxies }: Lab, casts: readonly Cast[]): readonly number[] => {
  const nodes = casts[0]!.wrapped.map(name => proxies.of(name))
  return nodes
    .flatMap(({ rules }) =>
      proxies.deaths.map(death => (goneWithin(rules, death) ?? NaN) - death.from),
    )
    .filter(Number.isFinite)
    .toSorted((a, b) => a - b)
}

/** Nearest rank. */
const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Infinity

const holdsBars = ({ lab }: Evidence, casts: readonly Cast[]): boolean => {
  const times = timesOf(lab, casts)
  return (
    times.length === TRIALS * PLANS.length &&
    percentile(times, 0.5) <= BARS.p50 &&
    percentile(times, 0.99) <= BARS.p99
  )
}

const spread = (lab: Lab, casts: readonly Cast[]): readonly string[] => {
  if (lab.proxies.deaths.length === 0) return []
  const times = timesOf(lab, casts)
  const [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1].map(share =>
    (percentile(times, share) / 1_000).toFixed(2),
  )
  const of = `${lab.proxies.deaths.length} deaths, ${times.length} times seen`
  return [`dead → out of the kernel: ${of}: p50 ${p50}, p90 ${p90}, p99 ${p99}, max ${max} s`]
}

export const deaths: Cell = {
  name: 'wrapper-deaths',
  shows: 'without the cloud node after node dies: how soon the kernels forget each',
  ...{ least: 8, profile: 'default', programs: ['kube-proxy'] },
  mayMark: roles => roles.slice(4),
  sound: roles => roles.slice(0, 4),
  steps: (roles, l) => {
    const casts = castsOf(roles)
    const [any] = casts
    const trials = Array.from({ length: TRIALS }, (_, i) => {
      const cast = casts[i % casts.length]!
      return [
        waited(i),
        dies(cast),
        ...forgotten(cast, PATIENCE_MS),
        returns(cast),
        known(cast, cast.wrapped, 3 * l.healedMs),
      ]
    })
    return [
      ...opened(any!),
      cutCloud([any!.direct, ...any!.wrapped]),
      nothingFails('cut', 3_000),
      ...trials.flat(),
      becomes(
        `half within ${BARS.p50 / 1_000} s, 99 of 100 within ${BARS.p99 / 1_000} s`,
        1_000,
        e => holdsBars(e, casts),
      ),
      mended,
    ]
  },
  notes: (roles, lab) => [...spread(lab, castsOf(roles)), ...accounts(lab)],
  lanes: (_roles, lab, startedAt) => lanesOf(lab, startedAt),
}

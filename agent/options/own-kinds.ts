// SPDX-License-Identifier: Apache-2.0
import { accept, LABEL_KEY, LABEL_VALUE, type Kind } from '../../options/kinds.js'
import type { OwnTaint } from '../../plan/options.js'

/** A score from above 0 to 100 with at most six decimals, held exactly: 100 is 100_000_000. */
export const score: Kind<number> = {
  name: 'score',
  rule: 'must be a score above 0 and up to 100 with at most 6 decimals',
  brief: 'above 0 and up to 100',
  parse: text => {
    const match = /^(\d{1,3})(?:\.(\d{1,6}))?$/.exec(text)
    if (match === null) return undefined
    const value = Number(match[1]) * 1_000_000 + Number((match[2] ?? '').padEnd(6, '0'))
    return value > 0 && value <= 100_000_000 ? accept(value) : undefined
  },
  format: value => String(value / 1_000_000),
}

const TAINT = new RegExp(
  `^(${LABEL_KEY})(?:=(${LABEL_VALUE}))?:(NoSchedule|PreferNoSchedule|NoExecute)$`,
)

/** `key=value:Effect` or `key:Effect`, as kubectl writes taints. */
export const taint: Kind<OwnTaint> = {
  name: 'taint',
  rule: 'must be a taint such as key:NoSchedule or key=value:NoExecute',
  brief: 'key:NoSchedule or key=value:NoExecute',
  parse: given => {
    const match = TAINT.exec(given)
    if (match === null) return undefined
    const [, key, value, effect] = match
    const taintEffect = effect as OwnTaint['effect']
    return accept(
      value === undefined
        ? { key: key!, effect: taintEffect }
        : { key: key!, value, effect: taintEffect },
    )
  },
  format: ({ key, value, effect }) => `${key}${value === undefined ? '' : `=${value}`}:${effect}`,
}

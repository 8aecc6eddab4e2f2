// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'
import { checkPluginSet } from '../../plugins/registry.js'
import type { AgentOptions } from './agent-options.js'
import { definitions, type OptionKey } from './definitions.js'

/** What holds between options. */
interface Rule {
  readonly option: OptionKey
  /** Completes "the option …"; undefined when the rule holds. */
  broken(o: AgentOptions): string | undefined
}

const nameOf = (key: OptionKey, o: AgentOptions): string => {
  const { flag, kind } = definitions[key]
  return `--${flag} (${kind.format(o[key] as never)})`
}

type NumberKey = {
  [K in OptionKey]: AgentOptions[K] extends number ? K : never
}[OptionKey]

const atLeast = (option: NumberKey, factor: 1 | 2, other: NumberKey): Rule => ({
  option,
  broken: o =>
    o[option] >= factor * o[other]
      ? undefined
      : `must be at least ${factor === 2 ? 'twice ' : ''}${nameOf(other, o)}`,
})

const atMost = (option: NumberKey, other: NumberKey): Rule => ({
  option,
  broken: o => (o[option] <= o[other] ? undefined : `must be at most ${nameOf(other, o)}`),
})

const below = (option: NumberKey, other: NumberKey): Rule => ({
  option,
  broken: o => (o[option] < o[other] ? undefined : `must be below ${nameOf(other, o)}`),
})

const rules: readonly Rule[] = [
  atLeast('recordTtlMs', 2, 'exchangePeriodMs'),
  atLeast('recordTtlMs', 2, 'superedgePeriodMs'),
  atLeast('recordTtlMs', 2, 'ringExchangePeriodMs'),
  atMost('burstPeriodMs', 'exchangePeriodMs'),
  atMost('burstPeriodMs', 'ringExchangePeriodMs'),
  below('exchangeTimeoutMs', 'recordTtlMs'),
  atMost('attemptsMin', 'attemptsMax'),
  atMost('downCheckPeriodMs', 'checkPeriodMs'),
  atLeast('reaffirmWindowMs', 2, 'burstPeriodMs'),
  atMost('reaffirmWindowMs', 'recordTtlMs'),
  below('writeHoldMs', 'recordTtlMs'),
  atMost('vouchFreshMs', 'recordTtlMs'),
  atMost('cloudCheckTimeoutMs', 'cloudCheckPeriodMs'),
  {
    option: 'witnessTarget',
    broken: o => {
      const isGiven = o.witnessTarget !== undefined
      if (isGiven === (o.witness === 'target')) return undefined
      return isGiven
        ? `must be left out unless --witness is target (it is ${o.witness})`
        : 'must be given when --witness is target'
    },
  },
  {
    option: 'deadTaint',
    broken: o =>
      o.deadTaint !== undefined &&
      o.deadTaint.key === o.cutTaint?.key &&
      o.deadTaint.effect === o.cutTaint.effect
        ? `must differ in key or effect from ${nameOf('cutTaint', o)}`
        : undefined,
  },
  {
    option: 'localPort',
    broken: o =>
      o.nodeAddress === o.localAddress && o.port === o.localPort
        ? `must differ from ${nameOf('port', o)}, since both listen on ${o.localAddress}`
        : undefined,
  },
  {
    option: 'metricsAddress',
    broken: o => {
      const port = o.metricsAddress?.port
      if (port !== o.port && port !== o.localPort) return undefined
      return `must have another port than ${nameOf(port === o.port ? 'port' : 'localPort', o)}`
    },
  },
  {
    option: 'metricsCertFile',
    broken: ({ metricsAddress, metricsCertFile, metricsKeyFile }) => {
      if ((metricsCertFile === undefined) !== (metricsKeyFile === undefined))
        return `must be given if and only if --${definitions.metricsKeyFile.flag} is`
      return metricsCertFile !== undefined && metricsAddress === undefined
        ? 'must be left out unless --metrics-address is given'
        : undefined
    },
  },
]

/**
 * Check what holds between options, and between the plugins and the score line.
 * @param thing how an error names an option, with where its value came from.
 * @throws InvalidInputError for the first rule that is broken.
 */
export const checkRules = (o: AgentOptions, thing: (key: OptionKey) => string): void => {
  for (const each of rules) {
    const { option } = each
    const rule = each.broken(o)
    if (rule === undefined) continue
    throw new InvalidInputError(
      thing(option),
      rule,
      definitions[option].kind.format(o[option] as never),
    )
  }
  checkPluginSet(o.plugins, o.scoreLine)
}

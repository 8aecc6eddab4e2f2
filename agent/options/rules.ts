// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'
import { checkPluginSet } from '../../plugins/registry.js'
import type { AgentOptions } from './agent-options.js'
import { definitions, type OptionKey } from './definitions.js'

/** A rule between options. */
interface Rule {
  readonly option: OptionKey
  /** Completes "the option …"; undefined when the rule holds. */
  broken(options: AgentOptions): string | undefined
}

const nameOf = (key: OptionKey, options: AgentOptions): string => {
  const { flag, kind } = definitions[key]
  return `--${flag} (${kind.format(options[key] as never)})`
}

type NumberKey = {
  [K in OptionKey]: AgentOptions[K] extends number ? K : never
}[OptionKey]

const atLeast = (option: NumberKey, factor: 1 | 2, other: NumberKey): Rule => ({
  option,
  broken: options =>
    options[option] >= factor * options[other]
      ? undefined
      : `must be at least ${factor === 2 ? 'twice ' : ''}${nameOf(other, options)}`,
})

const atMost = (option: NumberKey, other: NumberKey): Rule => ({
  option,
  broken: options =>
    options[option] <= options[other] ? undefined : `must be at most ${nameOf(other, options)}`,
})

const below = (option: NumberKey, other: NumberKey): Rule => ({
  option,
  broken: options =>
    options[option] < options[other] ? undefined : `must be below ${nameOf(other, options)}`,
})

const rules: readonly Rule[] = [
  atLeast('recordTtlMs', 2, 'exchangePeriodMs'),
  atLeast('recordTtlMs', 2, 'superedgePeriodMs'),
  atLeast('recordTtlMs', 2, 'ringExchangePeriodMs'),
  atMost('burstPeriodMs', 'exchangePeriodMs'),
  atMost('burstPeriodMs', 'ringExchangePeriodMs'),
  atLeast('identityChangeAfterMs', 1, 'recordTtlMs'),
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
    broken: options => {
      const isGiven = options.witnessTarget !== undefined
      if (isGiven === (options.witness === 'target')) return undefined
      return isGiven
        ? `must be left out unless --witness is target (it is ${options.witness})`
        : 'must be given when --witness is target'
    },
  },
  {
    option: 'identity',
    broken: options =>
      options.identity === 'require' && options.superedgePeers !== 'off'
        ? `must not be require with ${nameOf('superedgePeers', options)}, since nobody signs their results`
        : undefined,
  },
  {
    option: 'deadTaint',
    broken: options =>
      options.deadTaint !== undefined &&
      options.deadTaint.key === options.cutTaint?.key &&
      options.deadTaint.effect === options.cutTaint.effect
        ? `must differ in key or effect from ${nameOf('cutTaint', options)}`
        : undefined,
  },
  {
    option: 'localPort',
    broken: options =>
      options.nodeAddress === options.localAddress && options.port === options.localPort
        ? `must differ from ${nameOf('port', options)}, since both listen on ${options.localAddress}`
        : undefined,
  },
  {
    option: 'metricsAddress',
    broken: options => {
      const port = options.metricsAddress?.port
      if (port !== options.port && port !== options.localPort) return undefined
      return `must have another port than ${nameOf(port === options.port ? 'port' : 'localPort', options)}`
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
 * Check the rules between options, and between the plugins and the score line.
 * @param thing how an error names an option, with where its value came from.
 * @throws InvalidInputError for the first rule that is broken.
 */
export const checkRules = (options: AgentOptions, thing: (key: OptionKey) => string): void => {
  for (const each of rules) {
    const { option } = each
    const rule = each.broken(options)
    if (rule === undefined) continue
    throw new InvalidInputError(
      thing(option),
      rule,
      definitions[option].kind.format(options[option] as never),
    )
  }
  checkPluginSet(options.plugins, options.scoreLine)
}

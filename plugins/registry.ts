// SPDX-License-Identifier: Apache-2.0
import type { CheckPlugin } from '../core/check.js'
import { InvalidInputError } from '../core/errors.js'
import { http } from './http.js'
import { kubelet } from './kubelet.js'
import { kubeletauth } from './kubeletauth.js'
import { parseSpecOf } from './parse-spec.js'
import { ping } from './ping.js'
import type { PluginKind, PluginSeams } from './seams.js'
import { selfreport } from './selfreport.js'
import type { PluginSpec } from './spec.js'

/** All kinds. A new plugin is a file beside this one and a name in this line. */
const KINDS: readonly PluginKind[] = [ping, kubelet, kubeletauth, http, selfreport]

/** Names of the plugins; each has an option `--NAME-plugin`. */
export const pluginNames: readonly string[] = KINDS.map(kind => kind.name)

const kindOf = (name: string): PluginKind => {
  const kind = KINDS.find(each => each.name === name)
  if (kind === undefined)
    throw new InvalidInputError('check plugin', `must be one of ${pluginNames.join(', ')}`, name)
  return kind
}

const optionOf = (name: string): string => `--${name}-plugin`

/**
 * Read one plugin's option text: `timeout=5,retrytime=3,weight=1,port=10250`.
 * @param option how errors name the option. Default: `--ping-plugin` for `ping`.
 * @throws InvalidInputError that names option, key, rule and value.
 */
export const parsePluginSpec = (
  name: string,
  text: string,
  option: string = optionOf(name),
): PluginSpec => parseSpecOf(kindOf(name), text, option)

const millionths = (value: number): string => String(value / 1_000_000)

/**
 * Refuse a set of plugins that cannot judge: none, one twice, or weights with which everybody is always down, or
 * nobody ever.
 * @throws InvalidInputError for the first broken rule.
 */
export const checkPluginSet = (specs: readonly PluginSpec[], scoreLine: number): void => {
  if (specs.length === 0)
    throw new InvalidInputError('check plugins', 'must be at least one, or nothing is checked', [])
  const names = specs.map(spec => spec.name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new InvalidInputError(optionOf(twice), 'must be given once', names)
  let all = 0
  let words = 0
  for (const spec of specs) {
    const kind = kindOf(spec.name)
    kind.check?.(spec, optionOf(spec.name))
    if (!(Number.isSafeInteger(spec.weight) && spec.weight > 0))
      throw new InvalidInputError(`${optionOf(spec.name)}: weight`, 'must be above 0', spec.weight)
    all += 100 * spec.weight
    if (!kind.reachesNode) words += 100 * spec.weight
  }
  if (all < scoreLine)
    throw new InvalidInputError(
      'weights of the check plugins',
      `must add up to the score line ${millionths(scoreLine)}, or every node is always down`,
      millionths(all),
    )
  if (words >= scoreLine)
    throw new InvalidInputError(
      'weights of plugins that do not reach the node',
      `must stay below the score line ${millionths(scoreLine)}, or a dead node is never seen`,
      millionths(words),
    )
}

/**
 * Build the plugins in the order of their specs.
 * @throws InvalidInputError as `checkPluginSet` does.
 */
export const makePlugins = (
  specs: readonly PluginSpec[],
  seams: PluginSeams,
  scoreLine: number,
): readonly CheckPlugin[] => {
  checkPluginSet(specs, scoreLine)
  return specs.map(spec => {
    const { make, reachesNode } = kindOf(spec.name)
    return { ...make(spec, seams), reachesNode }
  })
}

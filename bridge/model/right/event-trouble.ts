// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../../core/json.js'

/** Prefix of this product's programs, which report Events with accounts of their own. */
const OWN_PROGRAMS = 'edge-health'

const given = (value: unknown): unknown => (value === '' || value === null ? undefined : value)

/**
 * Why a node may not write this Event; undefined when it may. Readers trust an Event's reporter, so a node must not create
 * or change Events that controllers or other nodes report about it.
 */
export const reporterTrouble = (event: JsonMap, node: string): string | undefined => {
  const { component, host }: JsonMap = isMap(event['source']) ? event['source'] : {}
  const { reportingComponent, reportingInstance, related } = event
  const instances = [host, reportingInstance].map(given).filter(one => one !== undefined)
  if (instances.length === 0) return 'it does not say which node reports it'
  if (instances.some(instance => instance !== node)) return 'another node reports it'
  const isOurs = [component, reportingComponent].some(
    one => typeof one === 'string' && one.startsWith(OWN_PROGRAMS),
  )
  if (isOurs) return 'agents report their Events themselves'
  return given(related) === undefined ? undefined : 'it names another object beside its own'
}

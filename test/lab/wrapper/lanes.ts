// SPDX-License-Identifier: Apache-2.0
// What to tell of a scene when it is over: a line and a picture for each node.
import type { Lane } from '../cell.js'
import type { Lab } from '../lab.js'
import { account, failures, goneWithin } from './evidence.js'
import type { ProxyNode } from './proxy-node.js'
import type { Death } from './proxy-zone.js'
import { describe } from './steps.js'

const outAfter = (node: ProxyNode, death: Death): string => {
  const gone = goneWithin(node.rules, death)
  return gone === undefined ? 'never' : `after ${((gone - death.from) / 1_000).toFixed(2)} s`
}

/** How each node's connections went while one was dead; or, when none died, from the first customer on. */
export const accounts = ({ proxies }: Lab): readonly string[] => {
  const opened = proxies.marks.get('open')
  if (opened === undefined) return []
  const now = performance.now()
  return proxies.proxied.flatMap(node => {
    const title = describe(node.plan!)
    if (proxies.deaths.length === 0) return [`${title}: ${account(node, opened, now)}`]
    return proxies.deaths.map(death => {
      const shown = account(node, death.from, Math.min(now, death.until))
      return `${title}: dead shop out of the kernel ${outAfter(node, death)}; ${shown}`
    })
  })
}

const laneOf = (node: ProxyNode, deaths: readonly Death[], startedAt: number): Lane => {
  const isDead = (address: string, at: number): boolean =>
    deaths.some(death => death.address === address && at >= death.from && at < death.until)
  // What the rules say of a node turns wrong when it dies, and right when it is back.
  const turns = [
    ...node.rules.map(({ at }) => at),
    ...deaths.flatMap(({ from, until }) => [from, until]),
  ].filter(Number.isFinite)
  const knew = turns
    .toSorted((a, b) => a - b)
    .flatMap(at => {
      const now = node.rules.findLast(moment => moment.at <= at)
      if (now === undefined) return []
      const backends = [...(now.backends ?? [])]
      return [
        {
          from: Math.round(at - startedAt),
          backends: now.backends === undefined ? undefined : backends.length,
          isWrong: backends.some(address => isDead(address, at)),
        },
      ]
    })
  return {
    title: describe(node.plan!),
    knew,
    asked: node.connections.length,
    failed: failures(node, startedAt).map(({ begunAt }) => Math.round(begunAt - startedAt)),
  }
}

/** A picture's data. */
export const lanesOf = ({ proxies }: Lab, startedAt: number): readonly Lane[] =>
  proxies.proxied.map(node => laneOf(node, proxies.deaths, startedAt))

// SPDX-License-Identifier: Apache-2.0
// What the scenes for kube-proxy are made of: who stands where, faults that many share, and claims.
import type { Evidence, Roles, Step } from '../cell.js'
import { becomes, each, fault, onBoth, stays } from '../cells/steps.js'
import { answered, failures, goneSince, hasExactly, isQuietWithout } from './evidence.js'
import type { ProxyNode, ProxyPlan } from './proxy-node.js'

export const START_MS = 45_000
export const RETURN_MS = 30_000

/** Who stands where. The first role is the one that dies; the last keeps its cloud link where others lose it. */
export interface Cast {
  readonly dies: string
  readonly direct: string
  readonly wrapped: readonly string[]
  /** Whose Pods are the Service. In a scene: the one that dies, and two that are behind the wrapper. */
  readonly shops: readonly string[]
  readonly plans: ReadonlyMap<string, ProxyPlan | undefined>
}

const DIRECT: ProxyPlan = { asks: 'apiserver', mode: 'iptables', lists: 'streamed', link: 'tls' }
export const wrapped = (
  mode: ProxyPlan['mode'],
  lists: ProxyPlan['lists'],
  link: ProxyPlan['link'] = 'http',
): ProxyPlan => ({ asks: 'wrapper', mode, lists, link })

export type Wrapped = readonly [ProxyPlan, ProxyPlan, ProxyPlan]

export const castOf = ([dies, direct, ...rest]: Roles, wrapped: Wrapped): Cast => {
  const behind = rest.slice(0, wrapped.length)
  return {
    dies: dies!,
    direct: direct!,
    wrapped: behind,
    shops: [dies!, behind[1]!, behind[2]!],
    plans: new Map<string, ProxyPlan | undefined>([
      [dies!, undefined],
      [direct!, DIRECT],
      ...behind.map((name, i) => [name, wrapped[i]!] as const),
    ]),
  }
}

export const describe = ({ asks, mode, lists, link }: ProxyPlan): string => {
  if (asks === 'apiserver') return `straight, ${mode}`
  return `wrapper, ${mode}, ${lists} lists${link === 'tls' ? ', TLS' : ''}`
}

export const wrappedNodes = ({ lab }: Evidence, { wrapped }: Cast): readonly ProxyNode[] =>
  wrapped.map(name => lab.proxies.of(name))

export const addresses = ({ lab }: Evidence, names: readonly string[]): readonly string[] =>
  names.map(name => lab.node(name).address)

export const since = ({ lab }: Evidence, what: string): number =>
  lab.proxies.marks.get(what) ?? Infinity

export const opened = (cast: Cast): readonly Step[] => [
  fault('shops on some nodes, kube-proxy on all but those that will die', async lab => {
    await lab.proxies.open(cast.plans, cast.shops)
  }),
  becomes('every kernel knows all shops', START_MS, e =>
    e.lab.proxies.proxied.every(node => hasExactly(node, addresses(e, cast.shops))),
  ),
  fault('the first customers come', async lab => lab.proxies.mark('open')),
  becomes('each shop serves each node', START_MS, e =>
    e.lab.proxies.proxied.every(node => answered(node, since(e, 'open'), cast.shops)),
  ),
]

export const cutCloud = (names: readonly string[]): Step =>
  fault(`the cloud links of ${names.join(', ')} drop everything`, async lab => {
    await each(names, name => lab.silence(name, 'cloud'))
    lab.proxies.mark('cut')
  })

export const dies = ({ dies: name }: Pick<Cast, 'dies'>): Step =>
  fault(`${name} loses its power`, async lab => {
    lab.proxies.bury(lab.node(name))
    await onBoth(link => lab.cable(name, link, false))
    await Promise.all([lab.node(name).kill(), lab.proxies.of(name).closeShop()])
  })

export const returns = ({ dies: name }: Pick<Cast, 'dies'>): Step =>
  fault(`${name} has power again`, async lab => {
    // A Pod is ready before it is sent anything: a SYN from before the return would be refused by a shop still closed.
    await lab.proxies.of(name).openShop()
    lab.proxies.raise(lab.node(name))
    await onBoth(link => lab.cable(name, link, true))
    lab.node(name).revive()
  })

/** Their Pods were evicted meanwhile, or will be: new ones, as a controller would make them. */
export const replaced = (names: readonly string[]): Step =>
  fault(`new Pods on ${names.join(', ')}`, async lab => {
    for (const name of names) {
      await lab.props.renewShop(lab.node(name), new AbortController().signal)
      await lab.proxies.offer(name)
    }
  })

export const mended = fault('all cloud links are back', async lab => {
  await lab.mendNetwork()
  lab.proxies.mark('mended')
})

/** One claim per node behind the wrapper, so that each has its own figure. */
export const forgotten = (cast: Cast, withinMs: number): readonly Step[] =>
  cast.wrapped.map((name, i) => {
    const plan = cast.plans.get(name)!
    return becomes(
      `node ${i + 1} (${describe(plan)}): the dead shop is out of the kernel`,
      withinMs,
      e => goneSince(e.lab.proxies.of(name).rules, e.lab.node(cast.dies).address) !== undefined,
    )
  })

export const quiet = (cast: Cast, forMs: number): Step =>
  stays('behind the wrapper no connection fails any more', forMs, e =>
    wrappedNodes(e, cast).every(node => isQuietWithout(node, e.lab.node(cast.dies).address)),
  )

export const directFails = (cast: Cast): Step =>
  becomes('straight at the apiserver they still do', 10_000, e => {
    const node = e.lab.proxies.of(cast.direct)
    return failures(node, performance.now() - 8_000).length > 0
  })

/** Those who hear nothing from the cloud; the others may have been told meanwhile that the Pod is gone. */
export const known = (cast: Cast, cut: readonly string[], withinMs = RETURN_MS): Step =>
  becomes('behind the wrapper, without the cloud, all shops are known again', withinMs, e =>
    cut.every(name => hasExactly(e.lab.proxies.of(name), addresses(e, cast.shops))),
  )

export const nothingFails = (what: string, forMs: number): Step =>
  stays(`no connection fails, since ${what}`, forMs, e =>
    e.lab.proxies.proxied.every(node => failures(node, since(e, what)).length === 0),
  )

// SPDX-License-Identifier: Apache-2.0
// Scenes for kube-proxy: behind the wrapper, and beside it straight at the apiserver.
import type { Cell, Evidence, Limits, Roles, Step } from '../cell.js'
import { becomes, fault, stays } from '../cells/steps.js'
import type { Lab } from '../lab.js'
import {
  account,
  describeFailures,
  answered,
  failures,
  goneSince,
  hasExactly,
  heldSince,
  isQuietWithout,
} from './evidence.js'
import { makeLoad } from './load.js'
import type { ProxyNode, ProxyPlan } from './proxy-node.js'

const START_MS = 45_000
const RETURN_MS = 30_000

/** Who stands where. The first role is the one that dies; the last keeps its cloud link where others lose it. */
interface Cast {
  readonly dies: string
  readonly direct: string
  readonly wrapped: readonly string[]
  /** Its Pods are the Service: the one that dies, one that is behind the wrapper, one with its cloud link. */
  readonly shops: readonly string[]
  readonly plans: ReadonlyMap<string, ProxyPlan | undefined>
}

const DIRECT: ProxyPlan = { asks: 'apiserver', mode: 'iptables', lists: 'streamed' }
const WRAPPED = (mode: ProxyPlan['mode'], lists: ProxyPlan['lists']): ProxyPlan => ({
  asks: 'wrapper',
  mode,
  lists,
})

type Wrapped = readonly [ProxyPlan, ProxyPlan, ProxyPlan]

const castOf = ([dies, direct, ...rest]: Roles, wrapped: Wrapped): Cast => {
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

const describe = ({ asks, mode, lists }: ProxyPlan): string =>
  asks === 'apiserver' ? `straight, ${mode}` : `wrapper, ${mode}, ${lists} lists`

const each = (names: readonly string[], act: (name: string) => unknown): Promise<unknown> =>
  Promise.all(names.map(act))

const wrappedNodes = ({ lab }: Evidence, { wrapped }: Cast): readonly ProxyNode[] =>
  wrapped.map(name => lab.proxies.of(name))

const addresses = ({ lab }: Evidence, names: readonly string[]): readonly string[] =>
  names.map(name => lab.node(name).address)

const since = ({ lab }: Evidence, what: string): number => lab.proxies.marks.get(what) ?? Infinity

const opened = (cast: Cast): readonly Step[] => [
  fault('a shop on each of three nodes, kube-proxy on the other four', async lab => {
    await lab.proxies.open(cast.plans, cast.shops)
  }),
  becomes('every kernel knows the three shops', START_MS, e =>
    e.lab.proxies.proxied.every(node => hasExactly(node, addresses(e, cast.shops))),
  ),
  fault('the first customers come', async lab => lab.proxies.mark('open')),
  becomes('each shop serves each node', START_MS, e =>
    e.lab.proxies.proxied.every(node => answered(node, since(e, 'open'), cast.shops)),
  ),
]

const cutCloud = (names: readonly string[]): Step =>
  fault(`the cloud links of ${names.join(', ')} drop everything`, async lab => {
    await each(names, name => lab.silence(name, 'cloud'))
    lab.proxies.mark('cut')
  })

const dies = ({ dies: name }: Cast): Step =>
  fault(`${name} loses its power`, async lab => {
    lab.proxies.mark('death')
    await each(['peer', 'cloud'], link => lab.cable(name, link as 'peer' | 'cloud', false))
    await Promise.all([lab.node(name).kill(), lab.proxies.of(name).closeShop()])
  })

const returns = ({ dies: name }: Cast): Step =>
  fault(`${name} has power again`, async lab => {
    lab.proxies.mark('return')
    await each(['peer', 'cloud'], link => lab.cable(name, link as 'peer' | 'cloud', true))
    lab.node(name).revive()
    lab.proxies.of(name).openShop()
  })

/** Its Pod was evicted meanwhile, or will be: a new one, as its controller would make it. */
const replaced = ({ dies: name }: Cast): Step =>
  fault(`a new Pod on ${name}`, async lab => {
    await lab.props.renewShop(lab.node(name), new AbortController().signal)
    await lab.proxies.offer(name)
  })

const mended = fault('all cloud links are back', async lab => {
  await lab.mendNetwork()
  lab.proxies.mark('mended')
})

/** One claim per node behind the wrapper, so that each has its own figure. */
const forgotten = (cast: Cast, withinMs: number): readonly Step[] =>
  cast.wrapped.map((name, i) => {
    const plan = cast.plans.get(name)!
    return becomes(
      `node ${i + 1} (${describe(plan)}): the dead shop is out of the kernel`,
      withinMs,
      e => goneSince(e.lab.proxies.of(name).rules, e.lab.node(cast.dies).address) !== undefined,
    )
  })

const quiet = (cast: Cast, forMs: number): Step =>
  stays('behind the wrapper no connection fails any more', forMs, e =>
    wrappedNodes(e, cast).every(node => isQuietWithout(node, e.lab.node(cast.dies).address)),
  )

const directFails = (cast: Cast): Step =>
  becomes('straight at the apiserver they still do', 10_000, e => {
    const node = e.lab.proxies.of(cast.direct)
    return failures(node, performance.now() - 3_000).length > 0
  })

const known = (cast: Cast): Step =>
  becomes('behind the wrapper every kernel knows the three shops again', RETURN_MS, e =>
    wrappedNodes(e, cast).every(node => hasExactly(node, addresses(e, cast.shops))),
  )

const nothingFails = (what: string, forMs: number): Step =>
  stays(`no connection fails, since ${what}`, forMs, e =>
    e.lab.proxies.proxied.every(node => failures(node, since(e, what)).length === 0),
  )

const accounts =
  (cast: Cast) =>
  (lab: Lab): readonly string[] => {
    const died = lab.proxies.marks.get('death')
    const until = lab.proxies.marks.get('return') ?? performance.now()
    const origin = lab.proxies.marks.get('open')
    if (origin === undefined) return []
    if (died === undefined)
      return lab.proxies.proxied.flatMap(node => {
        const failed = failures(node, origin)
        const text = describeFailures(failed, origin)
        return failed.length === 0 ? [] : [`${describe(node.plan!)}: ${text}`]
      })
    const address = lab.node(cast.dies).address
    return lab.proxies.proxied.map(node => {
      const gone = goneSince(node.rules, address)
      const out =
        gone === undefined || gone > until ? 'never' : `${((gone - died) / 1_000).toFixed(2)} s`
      return `${describe(node.plan!)}: dead shop out of the kernel after ${out}; ${account(node, died, until)}`
    })
  }

const scene = (
  name: string,
  shows: string,
  wrapped: Wrapped,
  steps: (cast: Cast, limits: Limits) => readonly Step[],
): Cell => ({
  ...{ name, shows, least: 5, programs: ['kube-proxy'] },
  mayMark: roles => roles.slice(0, 1),
  sound: roles => roles.slice(1),
  steps: (roles, limits) => {
    const cast = castOf(roles, wrapped)
    return [...opened(cast), ...steps(cast, limits)]
  },
  notes: (roles, lab) => accounts(castOf(roles, wrapped))(lab),
})

const AFTER_MS = 20_000

const death = scene(
  'wrapper-death',
  'a node without a cloud link takes a dead node out of its own kernel',
  [WRAPPED('iptables', 'streamed'), WRAPPED('nftables', 'plain'), WRAPPED('iptables', 'plain')],
  (cast, l) => [
    cutCloud([cast.direct, ...cast.wrapped.slice(0, 2)]),
    nothingFails('cut', 5_000),
    dies(cast),
    ...forgotten(cast, l.forgottenMs),
    directFails(cast),
    quiet(cast, AFTER_MS),
    directFails(cast),
    returns(cast),
    known(cast),
    mended,
    replaced(cast),
    becomes('every kernel knows the three shops', l.graceMs + RETURN_MS, e =>
      e.lab.proxies.proxied.every(node => hasExactly(node, addresses(e, cast.shops))),
    ),
  ],
)

const allCut = scene(
  'wrapper-all-cut',
  'the same while every node has lost the cloud',
  [WRAPPED('nftables', 'streamed'), WRAPPED('iptables', 'plain'), WRAPPED('nftables', 'plain')],
  (cast, l) => [
    cutCloud([cast.direct, cast.dies, ...cast.wrapped]),
    nothingFails('cut', 5_000),
    dies(cast),
    ...forgotten(cast, l.forgottenMs),
    quiet(cast, AFTER_MS),
    directFails(cast),
    returns(cast),
    known(cast),
    fault('customers of the shop that is back', async lab => lab.proxies.mark('back')),
    becomes('it serves every node behind the wrapper', RETURN_MS, e =>
      wrappedNodes(e, cast).every(node => answered(node, since(e, 'back'), cast.shops)),
    ),
    mended,
  ],
)

const reboot = scene(
  'wrapper-reboot',
  'without the cloud, wrapper and kube-proxy start anew on a kernel that knows nothing',
  [WRAPPED('iptables', 'streamed'), WRAPPED('nftables', 'streamed'), WRAPPED('iptables', 'plain')],
  (cast, l) => [
    cutCloud([cast.direct, ...cast.wrapped]),
    dies(cast),
    ...forgotten(cast, l.forgottenMs),
    fault('kube-proxy and wrapper of all nodes are killed, and the kernels forget', async lab => {
      const nodes = lab.proxies.proxied
      await Promise.all(nodes.map(node => Promise.all([node.killProxy(), node.killWrapper()])))
      await Promise.all(nodes.map(node => node.forgetRules()))
      for (const node of nodes) {
        node.startWrapper()
        node.startProxy()
      }
      lab.proxies.mark('reboot')
    }),
    becomes('behind the wrapper the kernels know the living shops', START_MS, e =>
      wrappedNodes(e, cast).every(node => {
        const living = cast.shops.filter(name => name !== cast.dies)
        return hasExactly(node, addresses(e, living))
      }),
    ),
    fault('customers come', async lab => lab.proxies.mark('again')),
    stays('behind the wrapper nothing fails', 8_000, e =>
      wrappedNodes(e, cast).every(node => failures(node, since(e, 'again')).length === 0),
    ),
    becomes('straight at the apiserver nothing works: there are no rules', 5_000, e => {
      const node = e.lab.proxies.of(cast.direct)
      return node.backends === undefined && failures(node, since(e, 'again')).length > 20
    }),
    mended,
    becomes('with the cloud it knows its shops', START_MS, e =>
      hasExactly(e.lab.proxies.of(cast.direct), addresses(e, cast.shops.slice(1))),
    ),
  ],
)

const compacted = scene(
  'wrapper-410',
  'the apiserver starts anew, and what the watches had is compacted away',
  [WRAPPED('iptables', 'streamed'), WRAPPED('nftables', 'streamed'), WRAPPED('nftables', 'plain')],
  cast => [
    fault(
      'etcd forgets all but the last revision; kube-apiserver is killed and starts',
      async lab => {
        lab.proxies.mark('killed')
        await lab.plane.forget(new AbortController().signal)
      },
    ),
    nothingFails('killed', 8_000),
    fault(`a fourth shop opens on ${cast.direct}`, lab => lab.proxies.offer(cast.direct)),
    becomes('every kernel knows it', START_MS, e =>
      e.lab.proxies.proxied.every(node =>
        hasExactly(node, addresses(e, [...cast.shops, cast.direct])),
      ),
    ),
    stays('all the while the three were there', 3_000, e =>
      e.lab.proxies.proxied.every(node =>
        heldSince(node, since(e, 'killed'), addresses(e, cast.shops)),
      ),
    ),
    nothingFails('killed', 1_000),
  ],
)

const KILLS = 4

const killed = scene(
  'wrapper-killed',
  'the wrapper is killed and started under load: the kernel never loses a living shop',
  [WRAPPED('iptables', 'streamed'), WRAPPED('nftables', 'plain'), WRAPPED('nftables', 'streamed')],
  cast => [
    fault('60 other Services, whose endpoints change 20 times a second', async lab => {
      lab.proxies.mark('load')
      await lab.proxies.load(makeLoad({ services: 60, perSecond: 20 }))
    }),
    ...Array.from({ length: KILLS }, (_, i) => [
      fault(`the wrappers are killed and start again (${i + 1})`, async lab => {
        await each(cast.wrapped, name => lab.proxies.of(name).killWrapper())
        await each(cast.wrapped, name => lab.proxies.of(name).startWrapper())
      }),
      stays('every kernel knows the three shops', 4_000, (e: Evidence) =>
        wrappedNodes(e, cast).every(node =>
          heldSince(node, since(e, 'load'), addresses(e, cast.shops)),
        ),
      ),
    ]).flat(),
    fault(`a fourth shop opens on ${cast.direct}`, lab => lab.proxies.offer(cast.direct)),
    becomes('every kernel knows it', START_MS, e =>
      e.lab.proxies.proxied.every(node =>
        hasExactly(node, addresses(e, [...cast.shops, cast.direct])),
      ),
    ),
    nothingFails('load', 1_000),
    stays('all the while the three were there', 1_000, e =>
      e.lab.proxies.proxied.every(node =>
        heldSince(node, since(e, 'load'), addresses(e, cast.shops)),
      ),
    ),
    fault('the load ends', lab => lab.proxies.endLoad()),
  ],
)

/** The scenes, in the order in which they are played. */
export const WRAPPER: readonly Cell[] = [death, allCut, reboot, compacted, killed]

// SPDX-License-Identifier: Apache-2.0
// Scenes for kube-proxy: behind the wrapper, and beside it straight at the apiserver.
import type { Cell, Evidence, Limits, Step } from '../cell.js'
import { becomes, each, fault, stays } from '../cells/steps.js'
import { deaths } from './deaths.js'
import { answered, failures, hasExactly, heldSince } from './evidence.js'
import { accounts, lanesOf } from './lanes.js'
import { makeLoad } from './load.js'
import {
  addresses,
  type Cast,
  castOf,
  cutCloud,
  dies,
  directFails,
  forgotten,
  known,
  mended,
  nothingFails,
  opened,
  quiet,
  replaced,
  RETURN_MS,
  returns,
  since,
  START_MS,
  type Wrapped,
  wrapped,
  wrappedNodes,
} from './steps.js'

const scene = (
  name: string,
  shows: string,
  plans: Wrapped,
  steps: (cast: Cast, limits: Limits) => readonly Step[],
): Cell => ({
  ...{ name, shows, least: 5, programs: ['kube-proxy'] },
  mayMark: roles => roles.slice(0, 1),
  sound: roles => roles.slice(1),
  steps: (roles, limits) => {
    const cast = castOf(roles, plans)
    return [...opened(cast), ...steps(cast, limits)]
  },
  notes: (_roles, lab) => accounts(lab),
  lanes: (_roles, lab, startedAt) => lanesOf(lab, startedAt),
})

const AFTER_MS = 20_000

const death = scene(
  'wrapper-death',
  'a node without a cloud link takes a dead node out of its own kernel',
  [
    wrapped('iptables', 'streamed'),
    wrapped('nftables', 'plain'),
    wrapped('iptables', 'plain', 'tls'),
  ],
  (cast, l) => [
    cutCloud([cast.direct, ...cast.wrapped.slice(0, 2)]),
    nothingFails('cut', 5_000),
    dies(cast),
    ...forgotten(cast, l.forgottenMs),
    directFails(cast),
    quiet(cast, AFTER_MS),
    directFails(cast),
    returns(cast),
    known(cast, cast.wrapped.slice(0, 2)),
    mended,
    replaced([cast.dies]),
    becomes('every kernel knows all shops', l.graceMs + RETURN_MS, e =>
      e.lab.proxies.proxied.every(node => hasExactly(node, addresses(e, cast.shops))),
    ),
  ],
)

const allCut = scene(
  'wrapper-all-cut',
  'the same while every node has lost the cloud',
  [
    wrapped('nftables', 'streamed', 'tls'),
    wrapped('iptables', 'plain'),
    wrapped('nftables', 'plain'),
  ],
  (cast, l) => [
    cutCloud([cast.direct, cast.dies, ...cast.wrapped]),
    nothingFails('cut', 5_000),
    dies(cast),
    ...forgotten(cast, l.forgottenMs),
    quiet(cast, AFTER_MS),
    directFails(cast),
    returns(cast),
    known(cast, cast.wrapped),
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
  [
    wrapped('iptables', 'streamed', 'tls'),
    wrapped('nftables', 'streamed'),
    wrapped('iptables', 'plain'),
  ],
  (cast, l) => [
    // A list goes to disk at most once in 30 seconds.
    fault('the wrappers write their lists to disk', lab => lab.pause(35_000)),
    cutCloud([cast.direct, ...cast.wrapped]),
    dies(cast),
    ...forgotten(cast, l.forgottenMs),
    fault('kube-proxy and wrapper of all nodes are killed, and the kernels forget', async lab => {
      const nodes = lab.proxies.proxied
      await Promise.all(nodes.map(node => Promise.all([node.killProxy(), node.killWrapper()])))
      await Promise.all(nodes.map(node => node.forgetRules()))
      await Promise.all(nodes.map(node => node.seenWithoutRules()))
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
    becomes('the control plane sees the living again', START_MS, e =>
      cast.shops
        .slice(1)
        .every(name => e.state(name).ready === 'True' && !e.state(name).unreachable),
    ),
    // Nobody could vouch for them.
    replaced(cast.shops.slice(1)),
    becomes('with the cloud it knows its shops', START_MS, e =>
      hasExactly(e.lab.proxies.of(cast.direct), addresses(e, cast.shops.slice(1))),
    ),
  ],
)

/** A client-go client tells an unencrypted listener no token: then the apiserver refuses its Events. */
const heardOf = (cast: Cast): readonly Step[] => {
  const behindTls = cast.wrapped.filter(name => cast.plans.get(name)?.link === 'tls')
  return [
    fault('the apiserver is asked for Events of kube-proxy', async lab => lab.proxies.askEvents()),
    becomes('those that went through a wrapper over TLS are there', 1_000, e =>
      behindTls.every(name => e.lab.proxies.events.has(name)),
    ),
  ]
}

const compacted = scene(
  'wrapper-410',
  'the apiserver starts anew, and what the watches had is compacted away',
  [
    wrapped('iptables', 'streamed', 'tls'),
    wrapped('nftables', 'streamed'),
    wrapped('nftables', 'plain', 'tls'),
  ],
  cast => [
    ...heardOf(cast),
    fault(
      'etcd forgets all but the last revision; kube-apiserver is killed and starts',
      async lab => {
        lab.proxies.mark('killed')
        await lab.forgetPast()
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
  [wrapped('iptables', 'streamed'), wrapped('nftables', 'plain'), wrapped('nftables', 'streamed')],
  cast => [
    fault('60 other Services, whose endpoints change 20 times a second', async lab => {
      lab.proxies.mark('load')
      await lab.proxies.load(makeLoad({ services: 60, perSecond: 20 }))
    }),
    ...Array.from({ length: KILLS }, (_, i) => [
      fault(`the wrappers are killed and start again (${i + 1})`, async lab => {
        await each(cast.wrapped, name => lab.proxies.of(name).killWrapper())
        for (const name of cast.wrapped) lab.proxies.of(name).startWrapper()
      }),
      stays('every kernel knows all shops', 4_000, (e: Evidence) =>
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
export const WRAPPER: readonly Cell[] = [death, allCut, reboot, compacted, killed, deaths]

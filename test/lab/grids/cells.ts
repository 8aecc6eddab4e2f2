// SPDX-License-Identifier: Apache-2.0
// Scenes for grids: a Service that serves each unit of nodes from its own nodes, under real kube-proxies.
import { join } from 'node:path'
import { systemClock } from '../../../core/clock.js'
import { Child } from '../../../sandbox/child.js'
import type { Cell, Evidence, Limits, Roles, Step, UnitLane } from '../cell.js'
import { becomes, each, fault, stays } from '../cells/steps.js'
import type { Lab } from '../lab.js'
import { accountFile } from './account.js'
import { answered, failures, goneSince, hasExactly } from '../wrapper/evidence.js'
import type { ProxyNode, ProxyPlan } from '../wrapper/proxy-node.js'
import {
  addresses,
  cutCloud,
  describe,
  mended,
  replaced,
  RETURN_MS,
  returns,
  START_MS,
  dies,
} from '../wrapper/steps.js'

const KEY = 'site'
type Unit = 'north' | 'south'

/** Two in the north lose a node, two in the south lose one to the north, and one asks the apiserver itself. */
interface Cast {
  readonly dies: string
  readonly direct: string
  readonly north: string
  readonly south: string
  readonly moves: string
  readonly shops: readonly string[]
  readonly wrapped: readonly string[]
  readonly plans: ReadonlyMap<string, ProxyPlan | undefined>
}

const plan = (asks: ProxyPlan['asks'], mode: ProxyPlan['mode']): ProxyPlan => ({
  ...{ asks, mode, lists: 'streamed', link: asks === 'wrapper' ? 'http' : 'tls' },
})

const castOf = (roles: Roles): Cast => {
  const [dies = '', direct = '', north = '', south = '', moves = ''] = roles
  return {
    ...{ dies, direct, north, south, moves },
    shops: [dies, north, south, moves],
    wrapped: [north, south, moves],
    plans: new Map([
      [dies, undefined],
      [direct, plan('apiserver', 'iptables')],
      [north, plan('wrapper', 'iptables')],
      [south, plan('wrapper', 'nftables')],
      [moves, plan('wrapper', 'iptables')],
    ]),
  }
}

/** When what moves has its new label; before it is in the south. */
const MOVED = 'moved'

const unitAt = ({ south, moves }: Cast, lab: Lab, name: string, at: number): Unit => {
  if (name === south) return 'south'
  return name === moves && at < (lab.proxies.marks.get(MOVED) ?? Infinity) ? 'south' : 'north'
}

const shopsOf = (cast: Cast, lab: Lab, name: string): readonly string[] => {
  const now = performance.now()
  const unit = unitAt(cast, lab, name, now)
  return cast.shops.filter(shop => unitAt(cast, lab, shop, now) === unit)
}

const knowsUnit = (e: Evidence, cast: Cast, name: string): boolean =>
  hasExactly(e.lab.proxies.of(name), addresses(e, shopsOf(cast, e.lab, name)))

const since = ({ lab }: Evidence, what: string): number => lab.proxies.marks.get(what) ?? Infinity

/** No connection that was begun since then was answered by another's unit, or by nobody. */
const isInside = (e: Evidence, cast: Cast, name: string, from: number): boolean => {
  const node = e.lab.proxies.of(name)
  const shops = new Set(shopsOf(cast, e.lab, name))
  const all = node.connections.filter(({ begunAt }) => begunAt >= from)
  return all.every(({ by }) => by !== undefined && shops.has(by))
}

const label = (lab: Lab, name: string, unit: Unit | ''): Promise<string> =>
  lab.plane.kubectl([
    'label',
    'node',
    name,
    unit === '' ? `${KEY}-` : `${KEY}=${unit}`,
    '--overwrite',
  ])

const inUnits = (cast: Cast): Step =>
  fault('two units of nodes: north and south', async lab => {
    const { dies, direct, north, south, moves } = cast
    await each([dies, direct, north], name => label(lab, name, 'north'))
    await each([south, moves], name => label(lab, name, 'south'))
  })

const GRID = `
apiVersion: superedge.io/v1
kind: ServiceGrid
metadata: { name: shopping, namespace: default }
spec:
  gridUniqKey: ${KEY}
  template:
    selector: { sells: web }
    ports: [{ name: http, port: 80, targetPort: 8080 }]
`

/** The controller of grids, as it ships, beside the apiserver. */
const controllers = new WeakMap<Lab, Child>()

const startGrids = async (lab: Lab): Promise<void> => {
  const { plane } = lab
  await plane.kubectl(['apply', '--server-side', '-f', 'deploy/components/grids/crds.yaml'])
  await plane.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'])
  const kubeconfig = await accountFile(plane)
  await lab.confined('grids')
  const child = new Child({
    title: 'edge-health grids',
    command: process.execPath,
    args: [
      ...[join(process.cwd(), 'dist/edge-health.cjs'), 'grids'],
      `--kubeconfig=${kubeconfig}`,
      '--status-address=127.0.0.1:51008',
    ],
    env: { PATH: process.env['PATH'] ?? '', HOME: plane.dir },
  })
  controllers.set(lab, child)
}

const stopGrids = async (lab: Lab): Promise<void> => {
  if (controllers.has(lab)) await lab.plane.kubectl(['delete', 'servicegrid', 'shopping'])
  const child = controllers.get(lab)
  controllers.delete(lab)
  if (child?.end !== undefined)
    throw new Error(`it ended by itself:\n${child.lastLines(15).join('\n')}`)
  await child?.stop(systemClock)
  await each(lab.names, name => label(lab, name, ''))
}

const scene = (
  name: string,
  shows: string,
  steps: (cast: Cast, limits: Limits) => readonly Step[],
): Cell => ({
  ...{ name, shows, least: 5, programs: ['kube-proxy'] },
  mayMark: roles => roles.slice(0, 1),
  sound: roles => roles.slice(1),
  steps: (roles, limits) => {
    const cast = castOf(roles)
    return [inUnits(cast), ...steps(cast, limits), fault('the grid goes', stopGrids)]
  },
  notes: (roles, lab) => accounts(castOf(roles), lab),
  units: (roles, lab, startedAt) => lanesOf(castOf(roles), lab, startedAt),
})

const titleOf = (cast: Cast, lab: Lab, node: ProxyNode): string =>
  `${unitAt(cast, lab, node.name, 0)}${node.name === cast.moves ? ', then north' : ''}: ${describe(node.plan!)}`

/** From the first customer on: before, kernels know nothing yet. */
const lanesOf = (cast: Cast, lab: Lab, startedAt: number): readonly UnitLane[] =>
  lab.proxies.proxied.map(node => ({
    title: titleOf(cast, lab, node),
    connections: node.connections
      .filter(({ begunAt }) => begunAt >= (lab.proxies.marks.get('open') ?? Infinity))
      .map(({ begunAt, by }) => ({
        at: Math.round(begunAt - startedAt),
        unit: unitAt(cast, lab, node.name, begunAt),
        by: by === undefined ? undefined : unitAt(cast, lab, by, begunAt),
      })),
  }))

/** How many connections of each node were answered inside its unit, outside, and not at all. */
const accounts = (cast: Cast, lab: Lab): readonly string[] =>
  lanesOf(cast, lab, 0).map(({ title, connections }) => {
    const inside = connections.filter(({ unit, by }) => by === unit).length
    const failed = connections.filter(({ by }) => by === undefined).length
    const outside = connections.length - inside - failed
    return `${title}: ${inside} inside, ${outside} outside, ${failed} failed`
  })

const without = scene(
  'grids-without',
  'without the annotation the connections of a Service leave their unit, behind the wrapper too',
  cast => [
    fault('shops in both units, and a Service that no grid made', lab =>
      lab.proxies.open(cast.plans, cast.shops),
    ),
    becomes('every kernel knows all shops', START_MS, e =>
      e.lab.proxies.proxied.every(node => hasExactly(node, addresses(e, cast.shops))),
    ),
    fault('customers come', async lab => lab.proxies.mark('open')),
    becomes('each shop serves each node', START_MS, e =>
      e.lab.proxies.proxied.every(node => answered(node, since(e, 'open'), cast.shops)),
    ),
  ],
)

const stayInside = (cast: Cast, names: readonly string[], mark: string, forMs: number): Step =>
  stays('behind the wrapper every connection is answered, in its own unit', forMs, e =>
    names.every(name => isInside(e, cast, name, since(e, mark))),
  )

const unit = scene(
  'grids-unit',
  'the Service of a ServiceGrid serves each unit from its own nodes, through a death, a cut cloud and a move',
  (cast, l) => [
    fault('edge-health grids starts, and a ServiceGrid is made', async lab => {
      await startGrids(lab)
      await lab.plane.kubectl(['apply', '-f', '-'], GRID)
      await lab.plane.kubectl(['wait', '--for=create', 'service/shopping-svc', '--timeout=60s'])
    }),
    fault('shops in both units', lab => lab.proxies.open(cast.plans, cast.shops, 'shopping-svc')),
    becomes('behind the wrapper each kernel knows the shops of its unit alone', START_MS, e =>
      cast.wrapped.every(name => knowsUnit(e, cast, name)),
    ),
    becomes('straight at the apiserver it knows all', START_MS, e =>
      hasExactly(e.lab.proxies.of(cast.direct), addresses(e, cast.shops)),
    ),
    fault('customers come', async lab => lab.proxies.mark('open')),
    stayInside(cast, cast.wrapped, 'open', 8_000),
    becomes('straight at the apiserver connections leave the unit', START_MS, e =>
      answered(e.lab.proxies.of(cast.direct), since(e, 'open'), cast.shops),
    ),
    cutCloud([cast.direct, cast.north, cast.south]),
    dies(cast),
    becomes('the dead shop is out of the kernel of its unit', l.forgottenMs, e => {
      const { rules } = e.lab.proxies.of(cast.north)
      return goneSince(rules, e.lab.node(cast.dies).address) !== undefined
    }),
    fault('customers come again', async lab => lab.proxies.mark('without')),
    stays('in its unit the other shop serves every connection, without the cloud', 12_000, e => {
      const from = since(e, 'without') + 1_000
      const node = e.lab.proxies.of(cast.north)
      const all = node.connections.filter(({ begunAt }) => begunAt >= from)
      return all.every(({ by }) => by === cast.north) && failures(node, from).length === 0
    }),
    stayInside(cast, [cast.south, cast.moves], 'open', 1_000),
    returns(cast),
    becomes('it is known again in its unit', RETURN_MS, e => knowsUnit(e, cast, cast.north)),
    mended,
    replaced([cast.dies]),
    becomes('each kernel knows its unit', l.graceMs + RETURN_MS, e =>
      cast.wrapped.every(name => knowsUnit(e, cast, name)),
    ),
    fault(`${cast.moves} goes to the north`, async lab => {
      await label(lab, cast.moves, 'north')
      lab.proxies.mark(MOVED)
    }),
    becomes('each kernel knows the shops of its present unit', START_MS, e =>
      cast.wrapped.every(name => knowsUnit(e, cast, name)),
    ),
    fault('customers come to where the node is now', async lab => lab.proxies.mark('after')),
    stays('every connection is answered, in its present unit', 8_000, e =>
      cast.wrapped.every(name => isInside(e, cast, name, since(e, 'after') + 1_000)),
    ),
  ],
)

/** The scenes, in the order in which they are played. */
export const GRIDS: readonly Cell[] = [without, unit]

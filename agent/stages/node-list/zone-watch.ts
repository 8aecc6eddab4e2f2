// SPDX-License-Identifier: Apache-2.0
import type { NodeView } from '../../../core/node.js'
import type { DataView, KubeApi } from '../../ports/kube-api.js'
import type { Watching, WatchSink } from '../../../kube/client/watching.js'
import { unitsOf } from './zone-rule.js'

/** A cache of one list/watch: what is there now, or undefined before the first list. */
interface Cache<T> {
  current: ReadonlyMap<string, T> | undefined
  watching: Watching
}

type Watch<T> = (sink: WatchSink<T>) => Watching

/** Keep what a list/watch tells by name; `onChange` follows each change, unless `isSame` says that it is none. */
const keep = <T extends { readonly name: string }>(
  watch: Watch<T>,
  onChange: () => void,
  isSame: (before: T, after: T) => boolean = () => false,
): Cache<T> => {
  const items = new Map<string, T>()
  const cache: Partial<Cache<T>> = {}
  const changed = (): void => {
    cache.current = items
    onChange()
  }
  cache.watching = watch({
    replace: list => {
      items.clear()
      for (const item of list) items.set(item.name, item)
      changed()
    },
    upsert: item => {
      const before = items.get(item.name)
      items.set(item.name, item)
      if (before === undefined || !isSame(before, item)) changed()
    },
    remove: name => {
      items.delete(name)
      changed()
    },
  })
  return cache as Cache<T>
}

/** The API has matched the labels of our own units: what is left to matter of another node is where it is, and its units. */
const isSameMember = (before: NodeView, after: NodeView): boolean =>
  before.internalIPs[0] === after.internalIPs[0] && unitsOf(before).join() === unitsOf(after).join()

/** A ConfigMap or Secret as the watch sees it; undefined before the first list, null when there is none. */
export type Found = DataView | null | undefined

/** Everything that decides who is in the zone, kept fresh by watches. */
export interface ZoneWatch {
  /** The own Node; undefined before the first list, null when it does not exist. */
  readonly own: NodeView | null | undefined
  /** Nodes that match the watched selector; undefined before its first list. */
  readonly nodes: ReadonlyMap<string, NodeView> | undefined
  /** Watch the nodes of this selector from now on; undefined watches none. */
  select(selector: string | undefined): void
  configMap(name: string): Found
  secret(name: string): Found
  /** Full lists so far, of all watches that run. */
  readonly lists: number
  stop(): Promise<void>
}

interface ZoneWatchPlan {
  readonly nodeName: string
  readonly namespace: string
  readonly configMaps: readonly string[]
  readonly secret: string
}

const single = <T>(cache: Cache<T> | undefined, name: string): T | null | undefined =>
  cache?.current === undefined ? undefined : (cache.current.get(name) ?? null)

/** Start the watches. `onChange` is called after each change that may move the roster, from the watches' callbacks. */
export const watchZone = (kube: KubeApi, plan: ZoneWatchPlan, onChange: () => void): ZoneWatch => {
  const { nodeName, namespace } = plan
  const own = keep<NodeView>(sink => kube.watchNodes({ name: nodeName }, sink), onChange)
  const configMaps = new Map(
    plan.configMaps.map(name => [
      name,
      keep<DataView>(sink => kube.watchConfigMap(namespace, name, sink), onChange),
    ]),
  )
  const secret = keep<DataView>(sink => kube.watchSecret(namespace, plan.secret, sink), onChange)
  const ended: Promise<void>[] = []
  let selected: string | undefined
  let nodes: Cache<NodeView> | undefined
  const watchings = (): Watching[] =>
    [own, secret, ...configMaps.values(), ...(nodes === undefined ? [] : [nodes])].map(
      ({ watching }) => watching,
    )
  return {
    get own() {
      return single(own, nodeName)
    },
    get nodes() {
      return nodes?.current
    },
    select: selector => {
      if (selector === selected) return
      if (nodes !== undefined) ended.push(nodes.watching.stop())
      selected = selector
      nodes =
        selector === undefined
          ? undefined
          : keep<NodeView>(sink => kube.watchNodes({ selector }, sink), onChange, isSameMember)
    },
    configMap: name => single(configMaps.get(name), name),
    secret: name => single(secret, name),
    get lists() {
      return watchings().reduce((sum, { status }) => sum + status.lists, 0)
    },
    stop: async () => {
      await Promise.all([...ended, ...watchings().map(watching => watching.stop())])
    },
  }
}

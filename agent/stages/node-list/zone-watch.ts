// SPDX-License-Identifier: Apache-2.0
import type { Logger } from '../../../core/log.js'
import type { NodeView } from '../../../core/node.js'
import type { DataView, MemberView } from '../../ports/kube-api.js'
import { KnownVersion } from '../../../kube/client/known-version.js'
import type { Watching, WatchSink } from '../../../kube/client/watching.js'
import { MembersWatch } from './members-watch.js'
import { OwnNode, type WatchSeams } from './own-node.js'

/** A cache of one list/watch: what is there now, or undefined before the first list. */
interface Cache<T> {
  current: ReadonlyMap<string, T> | undefined
  watching: Watching
}

type Watch<T> = (sink: WatchSink<T>) => Watching

/** Keep what a list/watch brings, by name; `onChange` follows each change. */
const keep = <T extends { readonly name: string }>(
  watch: Watch<T>,
  onChange: () => void,
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
      items.set(item.name, item)
      changed()
    },
    remove: name => {
      items.delete(name)
      changed()
    },
  })
  return cache as Cache<T>
}

/** A ConfigMap or Secret as the watch sees it; undefined before the first list, null when there is none. */
export type Found = DataView | null | undefined

/** Everything that decides who is in the zone, kept fresh by watches. */
export interface ZoneWatch {
  /** The own Node; undefined before it was read, null when it does not exist. */
  readonly own: NodeView | null | undefined
  /** Labels of these keys of the own Node matter from now on. */
  followOwn(keys: readonly string[]): void
  /** Nodes that match the watched selector; undefined before its first list. */
  readonly members: ReadonlyMap<string, MemberView> | undefined
  /** Names that match the wider selector alone. */
  readonly elsewhere: readonly string[]
  /** Nobody reaches this member any more: its Node may be gone, or have another address. */
  doubt(name: string): void
  /** Follow the Nodes of this selector from now on; undefined follows none. */
  select(which: Selected | undefined): void
  configMap(name: string): Found
  secret(name: string): Found
  /** Full lists so far, of all watches that run. */
  readonly lists: number
  stop(): Promise<void>
}

/** Which Nodes to follow. */
export interface Selected {
  readonly selector: string
  /** A selector that also finds nodes of other zones; undefined: there is none. */
  readonly wider: string | undefined
}

interface ZoneWatchPlan {
  readonly nodeName: string
  readonly namespace: string
  readonly configMaps: readonly string[]
  readonly secret: string
  readonly watchUpTo: number
  readonly pollMs: number
}

const single = <T>(cache: Cache<T> | undefined, name: string): T | null | undefined =>
  cache?.current === undefined ? undefined : (cache.current.get(name) ?? null)

/** Start the watches. `onChange` is called after each change that may move the roster, from the watches' callbacks. */
export const watchZone = (
  plan: ZoneWatchPlan,
  given: Omit<WatchSeams, 'known'> & { readonly log: Logger },
): ZoneWatch => {
  const seams = { ...given, known: new KnownVersion() }
  const { nodeName, namespace, watchUpTo, pollMs } = plan
  const { kube, onChange } = seams
  const own = new OwnNode(nodeName, seams)
  const configMaps = new Map(
    plan.configMaps.map(name => [
      name,
      keep<DataView>(sink => kube.watchConfigMap(namespace, name, sink), onChange),
    ]),
  )
  const secret = keep<DataView>(sink => kube.watchSecret(namespace, plan.secret, sink), onChange)
  const ending = new Set<Promise<void>>()
  const letEnd = (work: Promise<void>): void => {
    const done = work.finally(() => ending.delete(done))
    ending.add(done)
  }
  let selected = ''
  let members: MembersWatch | undefined
  const watchings = (): Watching[] =>
    [secret, ...configMaps.values()].map(({ watching }) => watching)
  return {
    get own() {
      return own.view
    },
    followOwn: keys => own.follow(keys),
    get members() {
      return members?.members
    },
    get elsewhere() {
      return members?.elsewhere ?? []
    },
    doubt: name => members?.doubt(name),
    select: which => {
      const text = JSON.stringify(which ?? null)
      if (text === selected) return
      if (members !== undefined) letEnd(members.stop())
      selected = text
      members =
        which === undefined ? undefined : new MembersWatch({ ...which, watchUpTo, pollMs }, seams)
    },
    configMap: name => single(configMaps.get(name), name),
    secret: name => single(secret, name),
    get lists() {
      const others = watchings().reduce((sum, { status }) => sum + status.lists, 0)
      return others + own.lists + (members?.lists ?? 0)
    },
    stop: async () => {
      const ends = watchings().map(watching => watching.stop())
      await Promise.all([...ending, ...ends, own.stop(), members?.stop()])
    },
  }
}

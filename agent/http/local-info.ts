// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import type { LocalView, Views } from './views.js'

/** What stands in `Time`. */
export type LocalinfoTime = 'zero' | 'rfc3339' | 'unix' | 'omit'

/** One node as SuperEdge v0.6 writes it, in this order; wrappers read `Normal`. */
interface Entry {
  readonly Normal: boolean
  readonly Hamc: ''
  readonly Time?: string | number
}

const ZERO_TIME = '0001-01-01T00:00:00Z'

const timeOf = (form: LocalinfoTime, wall: number): string | number | undefined => {
  const second = Math.floor(wall / 1_000)
  switch (form) {
    case 'zero':
      return ZERO_TIME
    case 'unix':
      return second
    case 'rfc3339':
      return new Date(second * 1_000).toISOString().replace('.000Z', 'Z')
    case 'omit':
      return undefined
  }
}

const entryOf = (isUp: boolean, time: string | number | undefined): Entry =>
  time === undefined ? { Normal: isUp, Hamc: '' } : { Normal: isUp, Hamc: '', Time: time }

type Entries = Readonly<Record<string, Entry | null>>

/** `/localinfo` and its changes, in the contract's form. */
export interface LocalInfo {
  /** The whole document with its one newline. The same buffer until view or second change. */
  body(): Buffer
  generation(): number
  /** The whole, as one event's JSON. */
  snapshot(): string
  /** What changed since the last call, a node that left as null; undefined when nothing did. */
  changes(): string | undefined
}

/** Renders the local view; keeps one rendered document and the last view that streams were sent. */
export const makeLocalInfo = (
  views: Pick<Views, 'localView'>,
  form: LocalinfoTime,
  clock: Clock,
): LocalInfo => {
  let sent: LocalView = views.localView()
  let cached:
    { readonly generation: number; readonly time: unknown; readonly body: Buffer } | undefined

  const render = (nodes: LocalView['nodes'], gone: readonly string[] = []): string => {
    const time = timeOf(form, clock.wall())
    const entries: Record<string, Entry | null> = {}
    for (const { name, isUp } of nodes) entries[name] = entryOf(isUp, time)
    for (const name of gone) entries[name] = null
    return JSON.stringify(entries satisfies Entries)
  }

  return {
    generation: () => views.localView().generation,
    body: () => {
      const { generation, nodes } = views.localView()
      const time = timeOf(form, clock.wall())
      if (cached?.generation !== generation || cached.time !== time)
        cached = { generation, time, body: Buffer.from(`${render(nodes)}\n`) }
      return cached.body
    },
    snapshot: () => render(views.localView().nodes),
    changes: () => {
      const view = views.localView()
      if (view.generation === sent.generation) return undefined
      const before = new Map(sent.nodes.map(node => [node.name, node.isUp]))
      const now = new Set(view.nodes.map(node => node.name))
      const changed = view.nodes.filter(node => before.get(node.name) !== node.isUp)
      const gone = [...before.keys()].filter(name => !now.has(name))
      sent = view
      return changed.length + gone.length === 0 ? undefined : render(changed, gone)
    },
  }
}

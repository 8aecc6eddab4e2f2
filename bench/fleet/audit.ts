// SPDX-License-Identifier: Apache-2.0
// What an apiserver was asked, by its audit log.

/** What a request is for. */
export type Ask = (typeof ASKS)[number]

export const ASKS = [
  /** `resourceVersion=0`: whatever the watch cache holds. */
  'list of any state',
  /** From the watch cache, but nothing older than what is known. */
  'list not older',
  /** The newest there is, from the store: its first page, or all of it. */
  'list of the newest',
  /** A list in the form of a watch (`sendInitialEvents`). */
  'streamed list',
  'further page',
  'watch',
  'sign of life',
  'other',
] as const

/** Those that begin a list. */
export const LISTS: readonly Ask[] = [
  'list of any state',
  'list not older',
  'list of the newest',
  'streamed list',
]

/** One request that an apiserver got. */
export interface Asked {
  /** Epoch ms. */
  readonly at: number
  readonly ask: Ask
  /** Status of the answer. */
  readonly code: number
  readonly path: string
}

/** Who is logged: these users and nobody else. */
export const auditPolicyFor = (users: readonly string[]): string =>
  JSON.stringify({
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [{ level: 'Metadata', users }, { level: 'None' }],
  })

interface Entry {
  readonly auditID: string
  readonly requestURI: string
  readonly verb: string
  readonly responseStatus?: { readonly code?: number }
  readonly requestReceivedTimestamp: string
}

const listOf = (query: URLSearchParams): Ask => {
  if (query.has('continue')) return 'further page'
  const version = query.get('resourceVersion') ?? ''
  if (version === '') return 'list of the newest'
  return version === '0' ? 'list of any state' : 'list not older'
}

const askOf = (verb: string, path: string, query: URLSearchParams): Ask => {
  if (verb === 'watch') return query.get('sendInitialEvents') === 'true' ? 'streamed list' : 'watch'
  if (verb === 'list') return listOf(query)
  return path === '/livez' ? 'sign of life' : 'other'
}

/** The requests of a log in the order of their arrival, each once. A last line that is not whole is left out. */
export const parseAudit = (text: string): readonly Asked[] => {
  const seen = new Map<string, Asked>()
  for (const line of text.split('\n').slice(0, -1)) {
    const entry = JSON.parse(line) as Entry
    // A watch is logged when it begins and when it ends.
    if (seen.has(entry.auditID)) continue
    const { pathname, searchParams } = new URL(entry.requestURI, 'http://apiserver')
    seen.set(entry.auditID, {
      at: Date.parse(entry.requestReceivedTimestamp),
      ask: askOf(entry.verb, pathname, searchParams),
      code: entry.responseStatus?.code ?? 0,
      path: pathname,
    })
  }
  return [...seen.values()].sort((a, b) => a.at - b.at)
}

/** A time, as epoch ms: from its first to before its last. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** Requests of a time in figures. Signs of life are counted apart: they come at their own pace in any case. */
export interface Figures {
  readonly counts: Readonly<Partial<Record<Ask, number>>>
  /** Answered with 4xx or 5xx, by that status. */
  readonly refused: Readonly<Record<string, number>>
  /** Lists among those: whoever asked for one asks again. */
  readonly refusedLists: number
  /** Of each second since the beginning. */
  readonly perSecond: readonly number[]
  readonly peak: number
  /** Seconds between the first and that by which nine tenths had come; NaN where none came. */
  readonly spreadS: number
}

export const figuresOf = (all: readonly Asked[], { from, to }: Span): Figures => {
  const asked = all.filter(({ at }) => at >= from && at < to)
  const counts: Partial<Record<Ask, number>> = {}
  const refused: Record<string, number> = {}
  let refusedLists = 0
  for (const { ask, code } of asked) {
    counts[ask] = (counts[ask] ?? 0) + 1
    if (code < 400) continue
    refused[code] = (refused[code] ?? 0) + 1
    if (LISTS.includes(ask)) refusedLists++
  }
  const work = asked.filter(({ ask }) => ask !== 'sign of life')
  const perSecond = Array.from({ length: Math.ceil((to - from) / 1_000) }, () => 0)
  for (const { at } of work) perSecond[Math.floor((at - from) / 1_000)]!++
  const at = (share: number): number => work[Math.ceil(work.length * share) - 1]?.at ?? NaN
  return {
    counts,
    refused,
    refusedLists,
    perSecond,
    peak: Math.max(0, ...perSecond),
    spreadS: (at(0.9) - (work[0]?.at ?? NaN)) / 1_000,
  }
}

/** How many lists there are among them. */
export const listsOf = ({ counts }: Figures): number =>
  LISTS.reduce((sum, ask) => sum + (counts[ask] ?? 0), 0)

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
  /** How far the store is, after nobody answered: a list of nothing. */
  'version of the store',
  /** Nodes that are named one by one, for what no watch tells: their agents' keys. */
  'list of names',
  'sign of life',
  'read',
  'write',
] as const

/** Those that begin a list. */
export const LISTS: readonly Ask[] = [
  'list of any state',
  'list not older',
  'list of the newest',
  'streamed list',
]

/** What the same client had asked for the same objects before it listed them. */
export type Before = 'nothing' | 'a refused list' | 'an answered list' | 'a watch'

/** One request that an apiserver got. */
export interface Asked {
  /** Epoch ms. */
  readonly at: number
  readonly ask: Ask
  /** Status of the answer. */
  readonly code: number
  readonly path: string
  /** Of lists that a watch goes on from. */
  readonly after?: Before
  /** It names a version, although its client was never told one of that resource. */
  readonly isGuess?: true
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
  /** Each client of a fleet has a token of its own. */
  readonly user?: { readonly extra?: Readonly<Record<string, readonly string[]>> }
  readonly userAgent?: string
  readonly responseStatus?: { readonly code?: number }
  readonly requestReceivedTimestamp: string
}

const listOf = (query: URLSearchParams): Ask => {
  if (query.has('continue')) return 'further page'
  const version = query.get('resourceVersion') ?? ''
  if (version === '') return 'list of the newest'
  return version === '0' ? 'list of any state' : 'list not older'
}

/** By what the client calls itself where it looks how far the store is. */
const VERSION_READER = 'edge-health-store-version'
const NAMES = 'kubernetes.io/hostname in '

const listOrRead = ({ userAgent }: Entry, query: URLSearchParams): Ask => {
  if (userAgent === VERSION_READER) return 'version of the store'
  return query.get('labelSelector')?.startsWith(NAMES) === true ? 'list of names' : listOf(query)
}

const askOf = (entry: Entry, path: string, query: URLSearchParams): Ask => {
  switch (entry.verb) {
    case 'watch':
      return query.get('sendInitialEvents') === 'true' ? 'streamed list' : 'watch'
    case 'list':
      return listOrRead(entry, query)
    case 'get':
      return path === '/livez' ? 'sign of life' : 'read'
    default:
      // Where the apiserver is on the own machine, an agent tries a renewal of its Lease while `/livez` is unwell.
      return query.get('dryRun') === 'All' ? 'sign of life' : 'write'
  }
}

const CREDENTIAL = 'authentication.kubernetes.io/credential-id'

/** Each entry of a log once: a watch is logged when it begins and when it ends. A last line that is not whole is left out. */
const entriesOf = (text: string): readonly Entry[] => {
  const seen = new Map<string, Entry>()
  for (const line of text.split('\n').slice(0, -1)) {
    const entry = JSON.parse(line) as Entry
    if (!seen.has(entry.auditID)) seen.set(entry.auditID, entry)
  }
  return [...seen.values()].sort((a, b) => timeOf(a) - timeOf(b))
}

const timeOf = ({ requestReceivedTimestamp }: Entry): number => Date.parse(requestReceivedTimestamp)

interface Request {
  /** The token of its client. */
  readonly client: string
  readonly ask: Ask
  readonly code: number
  readonly path: string
  readonly query: URLSearchParams
}

/** What each client has asked so far. */
class Clients {
  readonly #before = new Map<string, Before>()
  /** Of which resources a client was told a version. */
  readonly #told = new Set<string>()

  /** Note a request. @returns what it is to its client */
  take(request: Request): Pick<Asked, 'after' | 'isGuess'> {
    const { client, ask, path, query } = request
    const objects = [client, path, query.get('labelSelector'), query.get('fieldSelector')].join(' ')
    const after = this.#before.get(objects) ?? 'nothing'
    const isGuess = ask === 'list not older' && !this.#told.has(`${client} ${path}`)
    this.#note(objects, request)
    return { ...(LISTS.includes(ask) ? { after } : {}), ...(isGuess ? { isGuess } : {}) }
  }

  #note(objects: string, { client, ask, code, path }: Request): void {
    const isRefused = code >= 400
    const isList = LISTS.includes(ask) || ask === 'further page'
    if (ask === 'watch') this.#before.set(objects, 'a watch')
    if (isList) this.#before.set(objects, isRefused ? 'a refused list' : 'an answered list')
    if (isRefused) return
    if (isList) this.#told.add(`${client} ${path}`)
    if (ask === 'read') this.#told.add(`${client} ${path.slice(0, path.lastIndexOf('/'))}`)
  }
}

/** The requests of a log in the order of their arrival, each once. */
export const parseAudit = (text: string): readonly Asked[] => {
  const clients = new Clients()
  return entriesOf(text).map(entry => {
    const { pathname: path, searchParams: query } = new URL(entry.requestURI, 'http://apiserver')
    const client = entry.user?.extra?.[CREDENTIAL]?.[0] ?? ''
    const [ask, code] = [askOf(entry, path, query), entry.responseStatus?.code ?? 0]
    const more = clients.take({ client, ask, code, path, query })
    return { at: timeOf(entry), ask, code, path, ...more }
  })
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
  /** Lists that came when their client had asked for a watch, so that it knew a version to watch from. */
  readonly afterWatch: number
  /** Lists that came again although the apiserver had answered: their answer did not arrive whole, or in time. */
  readonly unheard: number
  /** Lists of a version that the client cannot know. */
  readonly guesses: number
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
  for (const { ask, code } of asked) {
    counts[ask] = (counts[ask] ?? 0) + 1
    if (code >= 400) refused[code] = (refused[code] ?? 0) + 1
  }
  const listsAfter = (before: Before): number =>
    asked.filter(({ after }) => after === before).length
  const work = asked.filter(({ ask }) => ask !== 'sign of life')
  const perSecond = Array.from({ length: Math.ceil((to - from) / 1_000) }, () => 0)
  for (const { at } of work) perSecond[Math.floor((at - from) / 1_000)]!++
  const at = (share: number): number => work[Math.ceil(work.length * share) - 1]?.at ?? NaN
  return {
    counts,
    refused,
    afterWatch: listsAfter('a watch'),
    unheard: listsAfter('an answered list'),
    guesses: asked.filter(({ isGuess }) => isGuess).length,
    perSecond,
    peak: Math.max(0, ...perSecond),
    spreadS: (at(0.9) - (work[0]?.at ?? NaN)) / 1_000,
  }
}

/** How many lists there are among them. */
export const listsOf = ({ counts }: Figures): number =>
  LISTS.reduce((sum, ask) => sum + (counts[ask] ?? 0), 0)

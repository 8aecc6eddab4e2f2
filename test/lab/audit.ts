// SPDX-License-Identifier: Apache-2.0
// The apiserver's own account of what the agents asked for: the judge of writes.
import { open, type FileHandle } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { BITE } from './confine/bite.js'

/** One request of an agent. */
export interface Asked {
  /** The ServiceAccount whose token was used. */
  readonly account: string
  /** The Node whose Pod's token was used. */
  readonly by: string
  /** With `try ` before it if it was a dry run, which changes nothing. */
  readonly verb: string
  readonly resource: string
  readonly name: string
  readonly code: number
  readonly path: string
  /** Why it was refused, in the apiserver's words. */
  readonly message: string
  /** Epoch ms at which the apiserver got it. */
  readonly wall: number
  readonly body: unknown
  /** The program, as it calls itself. */
  readonly client: string
}

interface Line {
  readonly verb: string
  readonly requestURI: string
  readonly requestReceivedTimestamp: string
  readonly user: {
    readonly username?: string
    readonly extra?: Readonly<Record<string, readonly string[]>>
  }
  readonly objectRef?: { resource?: string; subresource?: string; name?: string }
  readonly responseStatus?: { readonly code?: number; readonly message?: string }
  readonly requestObject?: unknown
  readonly userAgent?: string
}

const isDryRun = ({ path }: Pick<Asked, 'path'>): boolean => /[?&]dryRun=All/.test(path)

const parse = (text: string): Asked => {
  const line = JSON.parse(text) as Line
  const { resource = '', subresource, name = '' } = line.objectRef ?? {}
  return {
    account: line.user.username?.split(':').at(-1) ?? 'nobody',
    by: line.user.extra?.['authentication.kubernetes.io/node-name']?.[0] ?? 'nobody',
    verb: isDryRun({ path: line.requestURI }) ? `try ${line.verb}` : line.verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    name,
    code: line.responseStatus?.code ?? 0,
    path: line.requestURI,
    message: line.responseStatus?.message ?? '',
    wall: Date.parse(line.requestReceivedTimestamp),
    body: line.requestObject,
    client: line.userAgent ?? '',
  }
}

const CHUNK = 1 << 16

/** Reads the log as it grows. */
export class AuditLog {
  readonly #path: string
  #file: FileHandle | undefined
  #rest = ''

  constructor(path: string) {
    this.#path = path
  }

  /** What came since the last call. */
  async next(): Promise<readonly Asked[]> {
    this.#file ??= await open(this.#path).catch(() => undefined)
    const found: Asked[] = []
    const buffer = Buffer.alloc(CHUNK)
    for (;;) {
      const { bytesRead = 0 } = (await this.#file?.read(buffer, 0, CHUNK)) ?? {}
      if (bytesRead === 0) return found
      const lines = (this.#rest + buffer.toString('utf8', 0, bytesRead)).split('\n')
      this.#rest = lines.pop() ?? ''
      for (const line of lines) found.push(parse(line))
    }
  }

  async close(): Promise<void> {
    await this.#file?.close()
  }
}

const isWrite = ({ verb }: Asked): boolean => /^(try )?(patch|update|create|delete)$/.test(verb)

/** An agent's change of a Node, which the apiserver took. */
export const isNodeWrite = (asked: Asked): boolean =>
  /^nodes(\/|$)/.test(asked.resource) && isWrite(asked) && asked.code < 300 && !isDryRun(asked)

/** The apiserver refused for want of rights, a policy did, or it has no such method; what was only tried does not count. */
export const isForbidden = (asked: Asked): boolean =>
  !isDryRun(asked) &&
  ([401, 403, 405].includes(asked.code) || asked.message.includes('AdmissionPolicy'))

/**
 * A dry run that is no forbidden write: agents of earlier versions tried a patch that changes nothing, and the controller
 * of grids tries the first of many children.
 */
const isOwnTrial = (asked: Asked): boolean =>
  isDryRun(asked) &&
  (isDeepStrictEqual(asked.body, {}) ||
    (asked.account === 'edge-health-grids' && asked.client !== BITE))

/** What the apiserver did with the requests of one account. */
export interface WriteTally {
  readonly account: string
  /** Of any kind, but for dry runs; a watch is one. Missing in reports of earlier versions. */
  readonly requests?: number
  /** Writes that it took. */
  readonly made: number
  /** Writes that it refused for want of rights, or by a policy. */
  readonly refused: number
  /** Forbidden writes that were tried, by dry run, to see whether policies are in force. */
  readonly tried: number
  /** Those of them that it would have taken. */
  readonly letThrough: number
}

const NONE = { requests: 0, made: 0, refused: 0, tried: 0, letThrough: 0 }
type Counts = typeof NONE

const countsOf = (asked: Asked): Counts => {
  const requests = isDryRun(asked) ? 0 : 1
  if (!isWrite(asked) || isOwnTrial(asked)) return { ...NONE, requests }
  const taken = asked.code < 300 ? 1 : 0
  if (isDryRun(asked)) return { ...NONE, tried: 1, letThrough: taken }
  return { ...NONE, requests, made: taken, refused: isForbidden(asked) ? 1 : 0 }
}

const sumOf = (a: Omit<WriteTally, 'account'>, b: Omit<WriteTally, 'account'>): Counts => ({
  requests: (a.requests ?? 0) + (b.requests ?? 0),
  made: a.made + b.made,
  refused: a.refused + b.refused,
  tried: a.tried + b.tried,
  letThrough: a.letThrough + b.letThrough,
})

/** Counts requests by account. */
export class WriteTallies {
  readonly #byAccount = new Map<string, WriteTally>()

  /** Each account, by name. */
  get all(): readonly WriteTally[] {
    return [...this.#byAccount.values()].toSorted((a, b) => a.account.localeCompare(b.account))
  }

  add(asked: Asked): void {
    this.addTally({ account: asked.account, ...countsOf(asked) })
  }

  /** What another run counted. */
  addTally(tally: WriteTally): void {
    const { account } = tally
    const known = this.#byAccount.get(account) ?? NONE
    this.#byAccount.set(account, { account, ...sumOf(known, tally) })
  }
}

/** Whether each account is confined to its job, and was tried. */
export const areConfined = (tallies: readonly WriteTally[]): boolean =>
  tallies.length > 0 &&
  tallies.every(({ refused, tried, letThrough }) => refused === 0 && tried > 0 && letThrough === 0)

/** One account's line of the report. */
export const tallyText = (tally: WriteTally): string => {
  const { account, requests, made, refused, tried, letThrough } = tally
  const all = requests === undefined ? '' : `${requests} requests, `
  return `${account}: ${all}${made} writes made, ${refused} refused; ${tried} forbidden ones tried, ${letThrough} let through`
}

// SPDX-License-Identifier: Apache-2.0
// The apiserver's own account of what the agents asked for: the judge of writes.
import { open, type FileHandle } from 'node:fs/promises'

/** One request of an agent. */
export interface Asked {
  /** The Node whose Pod's token was used. */
  readonly by: string
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
}

interface Line {
  readonly verb: string
  readonly requestURI: string
  readonly requestReceivedTimestamp: string
  readonly user: { readonly extra?: Readonly<Record<string, readonly string[]>> }
  readonly objectRef?: { resource?: string; subresource?: string; name?: string }
  readonly responseStatus?: { readonly code?: number; readonly message?: string }
  readonly requestObject?: unknown
}

const parse = (text: string): Asked => {
  const line = JSON.parse(text) as Line
  const { resource = '', subresource, name = '' } = line.objectRef ?? {}
  return {
    by: line.user.extra?.['authentication.kubernetes.io/node-name']?.[0] ?? 'nobody',
    verb: line.verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    name,
    code: line.responseStatus?.code ?? 0,
    path: line.requestURI,
    message: line.responseStatus?.message ?? '',
    wall: Date.parse(line.requestReceivedTimestamp),
    body: line.requestObject,
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

const isDryRun = ({ path }: Asked): boolean => /[?&]dryRun=All/.test(path)

/** An agent's change of a Node, which the apiserver took. */
export const isNodeWrite = (asked: Asked): boolean =>
  /^nodes(\/|$)/.test(asked.resource) &&
  /^(patch|update|create|delete)$/.test(asked.verb) &&
  asked.code < 300 &&
  !isDryRun(asked)

/** The apiserver refused for want of rights, a policy did, or it has no such method; what was only tried does not count. */
export const isForbidden = (asked: Asked): boolean =>
  !isDryRun(asked) &&
  ([401, 403, 405].includes(asked.code) || asked.message.includes('AdmissionPolicy'))

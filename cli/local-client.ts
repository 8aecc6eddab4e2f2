// SPDX-License-Identifier: Apache-2.0
import { get, type IncomingMessage } from 'node:http'
import { Option } from 'commander'
import type { GenericSchema } from 'valibot'
import { EdgeHealthError, InvalidInputError, reasonOf } from '../core/errors.js'
import { parseJson, parseWith } from '../core/parse.js'
import { clean } from '../core/text.js'
import { Exit, type CliContext } from './cli-context.js'

/** A program on this node that shows its status over HTTP. */
export interface LocalProgram {
  /** Its name in the option and in the environment variable: `agent`. */
  readonly name: string
  /** `an agent`. */
  readonly withArticle: string
  /** Its listener, for messages. */
  readonly listener: string
  readonly url: string
}

/** A response. */
export interface LocalAnswer {
  readonly status: number
  readonly text: string
}

const TIMEOUT_MS = 5_000
const MAX_BODY_BYTES = 64 * 1_048_576
/** Most characters that are shown of a refusal, which may come from any program. */
const MAX_SAID = 200

const readAll = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) throw new Error('the answer is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/**
 * Queries a program on this node. When it does not answer, the command ends with exit code 3 and says where to
 * look.
 */
export class LocalClient {
  readonly #program: LocalProgram

  constructor(program: LocalProgram) {
    this.#program = program
  }

  /** `--NAME URL`, or EDGE_HEALTH_NAME. */
  option({ env }: CliContext): Option {
    const { name, listener, url } = this.#program
    const variable = `EDGE_HEALTH_${name.toUpperCase()}`
    const given = env[variable] ?? ''
    const what = `${listener}; also ${variable} (default ${url})`
    return new Option(`--${name} <url>`, what).default(given === '' ? url : given)
  }

  /** @throws InvalidInputError unless it is an http URL. */
  parseUrl(text: string): string {
    const { name, url } = this.#program
    const given = URL.canParse(text) ? new URL(text) : undefined
    if (given?.protocol === 'http:') return given.origin
    throw new InvalidInputError(`--${name}`, `must be an http:// URL such as ${url}`, text)
  }

  /** The error that ends the command when it does not answer. */
  unreachable(base: string, reason: string): Exit {
    const { name } = this.#program
    return new Exit(
      3,
      `no ${name} answers at ${base}: ${reason}\n` +
        `Run this on the node or in its ${name} Pod, or name the listener with --${name}. To look: ` +
        'kubectl -n edge-system get pods -o wide, kubectl -n edge-system logs POD',
    )
  }

  /** Status and headers of a response; the caller reads the body. */
  open(base: string, path: string, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const request = get(`${base}${path}`, { signal, agent: false, timeout: TIMEOUT_MS }, resolve)
      request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)))
      request.on('error', reject)
    })
  }

  /**
   * A response with status 200, or one that `isWanted` accepts.
   * @throws Exit 3
   */
  async fetch(
    base: string,
    path: string,
    { signal }: CliContext,
    isWanted: (answer: LocalAnswer) => boolean = () => false,
  ): Promise<LocalAnswer> {
    const answer = await this.#fetch(base, path, signal)
    if (answer.status === 200 || isWanted(answer)) return answer
    const said = clean(answer.text.slice(0, MAX_SAID).trim())
    throw this.unreachable(base, `it says ${answer.status} ${said}`)
  }

  /**
   * Check enough to tell the program from anything else on its port.
   * @throws Exit 3
   */
  parse(base: string, path: string, schema: GenericSchema, text: string): unknown {
    try {
      return parseWith(schema, path, parseJson(path, text))
    } catch (error) {
      if (!(error instanceof EdgeHealthError)) throw error
      const what = `what answers is not ${this.#program.withArticle} of this version`
      throw this.unreachable(base, `${what}: ${error.message}`)
    }
  }

  async #fetch(base: string, path: string, signal: AbortSignal): Promise<LocalAnswer> {
    try {
      const response = await this.open(base, path, signal)
      return { status: response.statusCode ?? 0, text: await readAll(response) }
    } catch (error) {
      throw this.unreachable(base, reasonOf(error))
    }
  }
}

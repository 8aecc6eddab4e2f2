// SPDX-License-Identifier: Apache-2.0
import { readFile } from 'node:fs/promises'
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Json } from '../../../sandbox/api-client.js'
import type { Resource } from './changes.js'

/** What one informer holds of one resource. */
interface Held {
  readonly synced: boolean
  readonly count: number
  readonly digest: string
  readonly tally: {
    readonly added: number
    readonly updated: number
    readonly deleted: number
    /** Updates to the version that was held already, and to an older one. */
    readonly repeated: number
    readonly older: number
  }
}

export type Digest = Readonly<Record<Resource, Held>>
export type Dump = Readonly<Record<Resource, readonly Json[]>>

export interface InformerOptions {
  readonly title: string
  readonly server: string
  readonly token: string
  readonly ca: string | undefined
  /** The one Node that it asks for, as kube-proxy does. @default all */
  readonly node: string | undefined
  readonly encoding: 'json' | 'protobuf'
  readonly lists: 'streamed' | 'plain'
}

/** One client-go process. */
export class Informer {
  readonly title: string
  readonly #process: ChildProcess
  readonly #answers: ((line: string) => void)[] = []
  readonly said: string[] = []

  constructor(program: string, options: InformerOptions) {
    this.title = options.title
    const args = [
      `--server=${options.server}`,
      `--token=${options.token}`,
      ...(options.ca === undefined ? [] : [`--ca=${options.ca}`]),
      ...(options.node === undefined ? [] : [`--node=${options.node}`]),
      ...(options.encoding === 'json' ? ['--json'] : []),
    ]
    this.#process = spawn(program, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        PATH: '/usr/bin:/bin',
        KUBE_FEATURE_WatchListClient: String(options.lists === 'streamed'),
      },
    })
    createInterface({ input: this.#process.stdout! }).on('line', line =>
      this.#answers.shift()?.(line),
    )
    createInterface({ input: this.#process.stderr! }).on('line', line => this.said.push(line))
    this.#process.stdin!.on('error', () => undefined)
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null
  }

  async digest(): Promise<Digest> {
    return (await this.#ask('digest')) as Digest
  }

  /** @param file where it may write. */
  async dump(file: string): Promise<Dump> {
    await this.#ask(`dump ${file}`)
    return JSON.parse(await readFile(file, 'utf8')) as Dump
  }

  freeze(): void {
    this.#process.kill('SIGSTOP')
  }

  thaw(): void {
    this.#process.kill('SIGCONT')
  }

  async stop(): Promise<void> {
    const ended = new Promise(resolve => this.#process.once('close', resolve))
    if (!this.isRunning) return
    this.#process.kill('SIGKILL')
    await ended
  }

  #ask(command: string): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#answers.push(line => {
        const answer = JSON.parse(line) as Json
        if (typeof answer['error'] === 'string') reject(new Error(answer['error']))
        else resolve(answer)
      })
      this.#process.stdin!.write(`${command}\n`)
    })
  }
}

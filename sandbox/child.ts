// SPDX-License-Identifier: Apache-2.0
import { type ChildProcess, spawn } from 'node:child_process'
import type { Clock } from '../core/clock.js'

/** A program to run. */
export interface Program {
  /** How people call it: `agent n3`. */
  readonly title: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Called with every line that it says. */
  readonly onLine?: (line: string) => void
}

/** How a process ended. */
export interface Ended {
  readonly title: string
  readonly code: number | null
  readonly signal: string | null
  /** Nobody here ended it. */
  readonly isCrash: boolean
}

const KEPT_LINES = 200
const KILL_AFTER_MS = 5_000

/** One process of ours, with the last lines that it said. */
export class Child {
  readonly title: string
  readonly ended: Promise<Ended>
  readonly #process: ChildProcess
  readonly #lines: string[] = []
  readonly #onLine: (line: string) => void
  #isWanted = true
  #end: Ended | undefined

  constructor(program: Program) {
    this.title = program.title
    this.#onLine = program.onLine ?? (() => undefined)
    this.#process = spawn(program.command, program.args, {
      env: program.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#collect(this.#process.stdout)
    this.#collect(this.#process.stderr)
    this.ended = new Promise(resolve => {
      const end = (code: number | null, signal: string | null): void => {
        this.#end = { title: this.title, code, signal, isCrash: this.#isWanted }
        resolve(this.#end)
      }
      this.#process.once('error', error => {
        this.#keep(error.message)
        end(null, null)
      })
      this.#process.once('close', end)
    })
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Undefined while it runs. */
  get end(): Ended | undefined {
    return this.#end
  }

  /** The last lines of both streams, oldest first. */
  lastLines(count: number): readonly string[] {
    return this.#lines.slice(-count)
  }

  /** Stopped processes take no signal but these two. */
  freeze(): void {
    this.#process.kill('SIGSTOP')
  }

  thaw(): void {
    this.#process.kill('SIGCONT')
  }

  /** Without a warning, as a power cut. */
  async kill(): Promise<void> {
    this.#isWanted = false
    if (this.#end === undefined) this.#process.kill('SIGKILL')
    await this.ended
  }

  /** Ask it to end, and end it when it does not. */
  async stop(clock: Clock): Promise<void> {
    this.#isWanted = false
    if (this.#end !== undefined) return
    this.thaw()
    this.#process.kill('SIGTERM')
    const cancel = clock.after(KILL_AFTER_MS, () => this.#process.kill('SIGKILL'))
    await this.ended
    cancel()
  }

  #collect(stream: NodeJS.ReadableStream | null): void {
    let rest = ''
    stream?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#keep(line)
    })
    stream?.on('end', () => this.#keep(rest))
  }

  #keep(line: string): void {
    if (line === '') return
    this.#onLine(line)
    this.#lines.push(line)
    if (this.#lines.length > KEPT_LINES) this.#lines.shift()
  }
}

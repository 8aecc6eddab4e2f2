// SPDX-License-Identifier: Apache-2.0
import { spawn, type ChildProcess } from 'node:child_process'
import type { WorldCall, WorldCalls, WorldReply } from './world/main.js'

/** First argument of a bench that shall be the world instead. */
export const AS_WORLD = '--as-world'

const pinned = (core: number | undefined, command: readonly string[]): readonly string[] =>
  core === undefined ? command : ['taskset', '-c', String(core), ...command]

/** The command line of a program on one core. */
export const pinnedCommand = pinned

/** The world in a process of its own. */
export class WorldProcess {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, (reply: WorldReply) => void>()
  #last = 0

  constructor(script: string, core: number | undefined) {
    const [command, ...args] = pinned(core, [process.execPath, script, AS_WORLD])
    this.#child = spawn(command!, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#child.on('message', (reply: WorldReply) => {
      this.#waiting.get(reply.id)?.(reply)
      this.#waiting.delete(reply.id)
    })
    this.#child.once('exit', () => {
      for (const answer of this.#waiting.values()) answer({ id: 0, error: 'the world ended' })
    })
  }

  get pid(): number {
    return this.#child.pid!
  }

  call<C extends WorldCall>(
    call: C,
    ...[argument]: Parameters<WorldCalls[C]>
  ): Promise<Awaited<ReturnType<WorldCalls[C]>>> {
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ value, error }) => {
        if (error === undefined) resolve(value as Awaited<ReturnType<WorldCalls[C]>>)
        else reject(new Error(`world: ${error}`))
      })
      this.#child.send({ id, call, argument })
    })
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const gone = new Promise(resolve => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await gone
  }
}

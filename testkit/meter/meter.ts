// SPDX-License-Identifier: Apache-2.0
// Counts what passes an interface, with a program that listens there. Needs root, Go and iproute2.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Environment } from '../control-plane/go-build.js'
import { buildGoProgram } from '../go-program.js'
import { type Entry, Ledger, type Sides } from './ledger.js'
import { parsePacket } from './packet.js'

/** The command line that runs a program where the interface is: in a namespace, or here. */
export type Inside = (program: string, args: readonly string[]) => readonly string[]

const here: Inside = (program, args) => [program, ...args]

/** The program that listens. @throws MissingError */
export const buildMeter = (environment: Environment): string =>
  buildGoProgram('testkit/meter', environment)

/**
 * Let an interface pass packets as a network card sends them: of 1500 bytes, each with its headers. Without it the kernel
 * hands larger ones from one end to the other, of which headers and acknowledgements are not seen.
 */
export const cutPackets = (name: string, inside: Inside = here): void => {
  const args = ['link', 'set', 'dev', name, 'mtu', '1500', 'gso_max_segs', '1']
  const [first = '', ...rest] = inside('ip', args)
  execFileSync(first, rest)
}

/** What a meter says when it ends. */
export interface Reading {
  readonly entries: readonly Entry[]
  /** Why the sums are not the whole truth; empty when they are. */
  readonly faults: readonly string[]
}

/** Listens on one interface until it is closed. */
export class Meter {
  readonly #child: ChildProcess
  readonly #ledger: Ledger
  readonly #ended: Promise<void>
  #lost = 0
  #trouble = ''

  private constructor(child: ChildProcess, sides: Sides) {
    this.#child = child
    this.#ledger = new Ledger(sides)
    this.#ended = new Promise(resolve => child.once('close', () => resolve()))
  }

  /** @throws Error with what the program said when it cannot listen. */
  static async open(
    program: string,
    name: string,
    sides: Sides,
    inside: Inside = here,
  ): Promise<Meter> {
    const [first = '', ...rest] = inside(program, [name])
    const child = spawn(first, rest, { stdio: ['pipe', 'pipe', 'pipe'] })
    const meter = new Meter(child, sides)
    child.stderr.on('data', part => (meter.#trouble += String(part)))
    child.once('error', error => (meter.#trouble += error.message))
    const lines = createInterface({ input: child.stdout })
    const ready = once(lines, 'line').then(() => true)
    lines.on('line', line => meter.#take(line))
    if (!(await Promise.race([ready, meter.#ended.then(() => false)])))
      throw new Error(`the meter does not run: ${meter.#trouble.trim()}`)
    return meter
  }

  /** What was counted until a tenth of a second ago. */
  get entries(): readonly Entry[] {
    return this.#ledger.entries
  }

  /** Count what came until now, and end. May be called twice. */
  async close(): Promise<Reading> {
    this.#child.stdin?.end()
    await this.#ended
    const { oversized } = this.#ledger
    const faults = [
      ...(this.#trouble === '' ? [] : [this.#trouble.trim()]),
      ...(this.#lost === 0 ? [] : [`${this.#lost} packets came too fast to be counted`]),
      ...(oversized === 0 ? [] : [`${oversized} packets were longer than a network card sends`]),
    ]
    return { entries: this.entries, faults }
  }

  #take(line: string): void {
    if (line === 'ready') return
    const end = /^end \d+ (\d+)$/.exec(line)
    if (end === null) this.#ledger.take(parsePacket(line))
    else this.#lost = Number(end[1])
  }
}

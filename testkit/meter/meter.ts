// SPDX-License-Identifier: Apache-2.0
// Counts what passes an interface, with a program that listens there. Needs root, Go and iproute2.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Environment } from '../control-plane/go-build.js'
import { buildGoProgram } from '../go-program.js'
import { type Entry, Ledger, type Sides } from './ledger.js'
import { type Packet, parsePacket } from './packet.js'

/** The command line that runs a program where the interface is: in a namespace, or here. */
export type Inside = (program: string, args: readonly string[]) => readonly string[]

const here: Inside = (program, args) => [program, ...args]

/** The program that listens. @throws MissingError */
export const buildMeter = (environment: Environment): string =>
  buildGoProgram('testkit/meter', environment)

/** What `ip link set` is told for {@link cutPackets}. */
export const AS_A_CARD = ['mtu', '1500', 'gso_max_segs', '1'] as const

/**
 * Let an interface pass packets as a network card sends them: of 1500 bytes, each with its headers. Without it the kernel
 * hands larger ones from one end to the other, of which headers and acknowledgements are not seen.
 */
export const cutPackets = (name: string, inside: Inside = here): void => {
  const args = ['link', 'set', 'dev', name, ...AS_A_CARD]
  const [first = '', ...rest] = inside('ip', args)
  execFileSync(first, rest)
}

/** Hands over the packets of one interface until it is closed. */
export class Listener {
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  #lost = 0
  #trouble = ''

  private constructor(child: ChildProcess) {
    this.#child = child
    this.#ended = new Promise(resolve => child.once('close', () => resolve()))
  }

  /**
   * @param take is given each packet, a tenth of a second after it passed
   * @throws Error with what the program said when it cannot listen.
   */
  static async open(
    program: string,
    name: string,
    take: (packet: Packet) => void,
    inside: Inside = here,
  ): Promise<Listener> {
    const [first = '', ...rest] = inside(program, [name])
    const child = spawn(first, rest, { stdio: ['pipe', 'pipe', 'pipe'] })
    const listener = new Listener(child)
    child.stderr.on('data', part => (listener.#trouble += String(part)))
    child.once('error', error => (listener.#trouble += error.message))
    const lines = createInterface({ input: child.stdout })
    const ready = once(lines, 'line').then(() => true)
    lines.on('line', line => {
      const end = /^end \d+ (\d+)$/.exec(line)
      if (end !== null) listener.#lost = Number(end[1])
      else if (line !== 'ready') take(parsePacket(line))
    })
    if (!(await Promise.race([ready, listener.#ended.then(() => false)])))
      throw new Error(`the meter does not run: ${listener.#trouble.trim()}`)
    return listener
  }

  /** Hand over what came until now, and end. May be called twice. @returns why that was not all; empty when it was. */
  async close(): Promise<readonly string[]> {
    this.#child.stdin?.end()
    await this.#ended
    return [
      ...(this.#trouble === '' ? [] : [this.#trouble.trim()]),
      ...(this.#lost === 0 ? [] : [`${this.#lost} packets came too fast to be counted`]),
    ]
  }
}

/** What a meter says when it ends. */
export interface Reading {
  readonly entries: readonly Entry[]
  /** Why the sums are not the whole truth; empty when they are. */
  readonly faults: readonly string[]
}

/** Counts what passes one interface until it is closed. */
export class Meter {
  readonly #listener: Listener
  readonly #ledger: Ledger

  private constructor(listener: Listener, ledger: Ledger) {
    this.#listener = listener
    this.#ledger = ledger
  }

  /** @throws Error with what the program said when it cannot listen. */
  static async open(program: string, name: string, sides: Sides, inside?: Inside): Promise<Meter> {
    const ledger = new Ledger(sides)
    const take = (packet: Packet): void => ledger.take(packet)
    return new Meter(await Listener.open(program, name, take, inside), ledger)
  }

  /** What was counted until a tenth of a second ago. */
  get entries(): readonly Entry[] {
    return this.#ledger.entries
  }

  /** Count what came until now, and end. May be called twice. */
  async close(): Promise<Reading> {
    const faults = await this.#listener.close()
    return { entries: this.entries, faults: [...faults, ...this.#ledger.faults] }
  }
}

// SPDX-License-Identifier: Apache-2.0
import type { Clock } from './clock.js'
import type { Logger } from './log.js'
import type { Random } from './random.js'

/** What the process provides to a program. */
export interface ProgramSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly version: string
  /** For credentials: the Pod's service account and exec plugins are found through it. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** A program that runs until it is stopped. */
export interface Program {
  /** Resolves when it runs; rejects when it cannot (a taken port, no credentials). */
  start(): Promise<void>
  /** Stops in reverse order. May be called while starting, and twice. */
  stop(): Promise<void>
  /** Never resolves; rejects when a bug ended the program's work: a process that does nothing must not look healthy. */
  readonly failed?: Promise<never>
}

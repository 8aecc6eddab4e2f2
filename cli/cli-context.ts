// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'

/** A sink for text. */
export interface Output {
  write(text: string | Uint8Array): unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

/** The process as the commands see it; tests provide their own. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdout: Output
  readonly stderr: Output
  /** Throws the system's error. */
  readFile(path: string): string
  /** Aborts on SIGINT and SIGTERM. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** 0: done; 1: a node is dead, or the command failed; 2: bad usage; 3: no answer, or `grids plan` found something to write. */
export type ExitCode = 0 | 1 | 2 | 3

/** Ends a command with a message and an exit code. */
export class Exit extends Error {
  readonly exitCode: ExitCode
  constructor(exitCode: ExitCode, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Runs a command's action; the program keeps its exit code. */
export type Run = (work: () => Promise<ExitCode>) => Promise<void>

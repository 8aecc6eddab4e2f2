// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import type { MakeAgent } from './agent.js'

/** A command whose code is loaded only when it is called: the agent's memory is not spent on it. */
export interface LazyCommand {
  readonly name: string
  readonly description: string
  /** Builds the command's own program; it gets all arguments behind the command's name. */
  load(): Promise<{ register(program: Command): void }>
}

/** Commands beside the agent's own, by the name that is typed. */
export const lazyCommands: readonly LazyCommand[] = []

/** The agent itself: loaded by `edge-health agent` alone. */
export const loadAgent = async (): Promise<MakeAgent> =>
  (await import('../agent/program.js')).makeProgram

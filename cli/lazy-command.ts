// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import type { Run, CliContext } from './cli-context.js'

/** A command whose code is loaded only when it is called, to save the agent's memory. */
export interface LazyCommand {
  readonly name: string
  readonly description: string
  /** Not shown in the help. */
  readonly hidden?: boolean
  /** Registers the command; it gets all arguments after its name. */
  load(): Promise<{ register(program: Command, context: CliContext, run: Run): void }>
}

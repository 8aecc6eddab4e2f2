// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import { registerAgent, type MakeAgent } from './agent.js'
import type { CliContext, Run } from './cli-context.js'
import { registerExplain } from './explain.js'
import { registerStatus } from './status.js'
import { registerVersion } from './version.js'

/** The program in one sentence. */
export const ABOUT = 'Edge nodes judge each other: a cut cloud link is not a dead node.'

/** The commands whose code is loaded from the start. */
export const registerOwn = (
  program: Command,
  context: CliContext,
  run: Run,
  loadAgent: (() => Promise<MakeAgent>) | undefined,
): void => {
  registerAgent(program, context, run, loadAgent)
  registerStatus(program, context, run)
  registerExplain(program, context, run)
  registerVersion(program, context, run)
}

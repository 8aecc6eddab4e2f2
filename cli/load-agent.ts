// SPDX-License-Identifier: Apache-2.0
import type { MakeAgent } from './agent.js'

/** The agent itself: loaded by `edge-health agent` alone. */
export const loadAgent = async (): Promise<MakeAgent> =>
  (await import('../agent/program.js')).makeProgram

// SPDX-License-Identifier: Apache-2.0
// What `edge-health wrapper` runs: see agent-main.ts.
import { start } from './start.js'
import { wrapperCommand } from './wrapper-command.js'

start({ lazyCommands: [wrapperCommand], loadAgent: undefined })

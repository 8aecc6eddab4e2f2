// SPDX-License-Identifier: Apache-2.0
import { lazyCommands } from './lazy-commands.js'
import { loadAgent } from './load-agent.js'
import { start } from './start.js'

start({ lazyCommands, loadAgent })

// SPDX-License-Identifier: Apache-2.0
// What `edge-health agent` runs. It runs on each node, where the code of the other programs would take 2 MiB of memory.
import { loadAgent } from './load-agent.js'
import { start } from './start.js'

start({ lazyCommands: [], loadAgent })

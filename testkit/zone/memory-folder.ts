// SPDX-License-Identifier: Apache-2.0
import type { StateFolder, StateName } from '../../agent/state-folder.js'

/** A disk that outlives its agent. */
export const memoryFolder = (files: Map<StateName, string>): StateFolder => ({
  read: async name => files.get(name),
  write: async (name, text) => {
    files.set(name, text)
  },
  retry: async () => undefined,
  settled: async () => undefined,
  troubles: new Map(),
})

// SPDX-License-Identifier: Apache-2.0
import type { StateFolder, StateName } from '../../agent/state-folder.js'

/** A disk that outlives its agent. @param troubles files that it does not take */
export const memoryFolder = (
  files: Map<StateName, string>,
  troubles: ReadonlyMap<StateName, string> = new Map(),
): StateFolder => ({
  path: '/memory',
  read: async name => files.get(name),
  write: async (name, text) => {
    if (!troubles.has(name)) files.set(name, text)
  },
  distrust: () => undefined,
  retry: async () => undefined,
  settled: async () => undefined,
  troubles,
})

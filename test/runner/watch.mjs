// SPDX-License-Identifier: Apache-2.0
import { existsSync, watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

/** An editor writes a file in several steps. */
const SETTLE_MS = 200

/**
 * Call `again` now and after each change below one of `folders`, one call at a time: what changes meanwhile makes one more.
 * Ends with `signal`. Rejects when none of the folders exists.
 */
export const watchFolders = async (folders, again, { root, signal }) => {
  const present = folders.map(folder => join(root, folder)).filter(path => existsSync(path))
  if (present.length === 0) throw new Error(`no such folder: ${folders.join(', ')}`)
  let changes = 0
  let wake = () => undefined
  const touch = () => {
    changes++
    wake()
  }
  for (const path of present) watch(path, { recursive: true, signal }, touch)
  signal.addEventListener('abort', () => wake())
  while (!signal.aborted) {
    const seen = changes
    await again()
    while (changes === seen && !signal.aborted) await new Promise(resolve => (wake = resolve))
    if (!signal.aborted) await setTimeout(SETTLE_MS)
  }
}

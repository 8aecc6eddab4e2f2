// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }

/** From now on temporary files of this process, and of those it starts, are in a folder that is removed when it exits, also on a signal. */
export const useOwnFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'edge-health-bench-'))
  process.env.TMPDIR = folder
  // Programs that were killed just now may still write a file.
  const options = { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }
  process.once('exit', () => rmSync(folder, options))
  for (const [signal, code] of Object.entries(CODES)) process.once(signal, () => process.exit(code))
}

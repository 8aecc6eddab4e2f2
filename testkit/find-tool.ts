// SPDX-License-Identifier: Apache-2.0
// Programs of others that some tests run: on the PATH, or in the cache that `node testkit/tools.mjs` fills.
import { accessSync, constants } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

export type Tool =
  'fish' | 'hadolint' | 'helm' | 'helm-docs' | 'mandoc' | 'prometheus' | 'promtool' | 'zsh'

/** Where a program is; or why a test that needs it is skipped. */
export type FoundTool =
  | { readonly path: string; readonly missing: false }
  | { readonly path: ''; readonly missing: string }

const isThere = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Beside the control plane's programs. */
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'edge-health-lab', 'tools') // prettier-ignore

/** Looks for a program; it is fetched or built by `node testkit/tools.mjs` alone, never by a test. */
export const findTool = (name: Tool): FoundTool => {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), cache]
  const path = folders.map(folder => join(folder, name)).find(isThere)
  if (path !== undefined) return { path, missing: false }
  return { path: '', missing: `no ${name} here: "node testkit/tools.mjs ${name}" gets it` }
}

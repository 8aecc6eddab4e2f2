// SPDX-License-Identifier: Apache-2.0
// The move from the names of earlier versions, as docs/operations.md tells it.
import type { Manifest } from './rbac.js'

/** The agent's objects as they were called before they had names of their own; those of the wrapper kept theirs. */
export const earlierObjects = (objects: readonly Manifest[]): readonly Manifest[] =>
  (JSON.parse(JSON.stringify(objects)) as readonly Manifest[])
    .filter(({ metadata }) => metadata.name === 'edge-health-agent')
    .map(
      object =>
        JSON.parse(
          JSON.stringify(object).replaceAll('edge-health-agent', 'edge-health'),
        ) as Manifest,
    )

/** The shell blocks of the section: the move itself, and what removes the rest. */
export const moveScripts = (operations: string): readonly string[] => {
  const section = operations.split('### Names of earlier versions\n')[1]?.split(/^##/m)[0] ?? ''
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, script]) => script!)
}

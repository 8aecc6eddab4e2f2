// SPDX-License-Identifier: Apache-2.0
// The move from the names of earlier versions, as docs/earlier-names.md tells it.
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

/** The shell blocks of a section, which begins with this heading. */
export const shellBlocks = (text: string, heading: string): readonly string[] => {
  const section = text.split(`${heading}\n`)[1]?.split(/^##/m)[0] ?? ''
  return [...section.matchAll(/^ *```sh\n(.*?)^ *```$/gms)].map(([, script]) => script!)
}

/** The move itself, and what removes the rest. */
export const moveScripts = (page: string): readonly string[] =>
  shellBlocks(page, '# Names of earlier versions')

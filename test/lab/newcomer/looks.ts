// SPDX-License-Identifier: Apache-2.0
// What was seen while something is waited for, in words.
import type { StatusView } from '../../../agent/http/status-view.js'

/** Undefined when there is nothing. */
export const listOf = (texts: readonly string[]): string | undefined =>
  texts.length === 0 ? undefined : texts.join('; ')

/** What an agent says that is not so in a whole healthy zone. */
export const unlike = (
  { self, zone, nodes, confinement }: StatusView,
  size: number,
): readonly string[] => [
  ...(zone.name === 'site-a' && zone.members === size
    ? []
    : [`${self.name} is in a zone "${zone.name}" of ${zone.members}`]),
  ...nodes
    .filter(node => node.class !== 'healthy' || node.pending !== null)
    .map(node => `${self.name} says ${node.name} is ${node.class}, pending ${node.pending ?? '–'}`),
  ...(confinement.state === 'yes' ? [] : [`${self.name} is not confined: ${confinement.reason}`]),
]

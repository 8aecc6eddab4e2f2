// SPDX-License-Identifier: Apache-2.0
import { isLabelValue } from '../../core/label.js'
import type { UnitSource } from './grid.js'
import { NODE_UNIT_VALUE } from './marks.js'

type Labels = Readonly<Record<string, string>>

/** The units of a node in a source; at most one by a label's value. */
export const unitsOfNode = (source: UnitSource, labels: Labels): readonly string[] => {
  if (source.by === 'label-value') {
    const value = Object.hasOwn(labels, source.key) ? labels[source.key]! : ''
    return value === '' ? [] : [value]
  }
  const { names } = source
  // NodeUnits' names have no slash: a key with a domain could not be a label value of pods.
  return Object.keys(labels).filter(
    key =>
      labels[key] === NODE_UNIT_VALUE &&
      isLabelValue(key) &&
      (names === undefined || names.includes(key)),
  )
}

/** All units of these nodes, sorted. */
export const unitsOf = (
  source: UnitSource,
  nodes: Iterable<{ readonly labels: Labels }>,
): readonly string[] => {
  const units = new Set<string>()
  for (const { labels } of nodes) for (const unit of unitsOfNode(source, labels)) units.add(unit)
  return [...units].sort()
}

/** The label that the nodes of a unit share. */
export const nodeLabelOf = (
  source: UnitSource,
  unit: string,
): readonly [key: string, value: string] =>
  source.by === 'label-value' ? [source.key, unit] : [unit, NODE_UNIT_VALUE]

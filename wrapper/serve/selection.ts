// SPDX-License-Identifier: Apache-2.0
import { parseFieldSelector, type FieldTerm } from '../../kube/server/field-selector.js'
import { parseLabelSelector } from '../../kube/server/label-selector.js'
import { readUnschedulable } from '../wire/node.js'
import { readService } from '../wire/service.js'
import type { Selection } from '../store/change-cursor.js'
import type { Stored } from '../store/stored.js'
import type { Row } from '../store/resources.js'
import type { Target } from './target.js'

/** The parsed selectors of a list or a watch. */
export interface Chosen {
  readonly selection: Selection
  /** The only key that can match, where a field selector names it. */
  readonly key: string | undefined
  /** Whether there is any selector. */
  readonly isSelective: boolean
}

const COMMON = ['metadata.name', 'metadata.namespace']

const complaint =
  ({ fields, resource, isNamespaced }: Row) =>
  (field: string): string | undefined => {
    const hasOwn = fields.length > 0
    const isServed =
      fields.includes(field) ||
      (COMMON.includes(field) && (field === 'metadata.name' || isNamespaced || !hasOwn))
    if (isServed) return undefined
    const isCustom = hasOwn || resource === 'nodes'
    return isCustom
      ? `field label not supported: ${field}`
      : `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`
  }

const valueOf = (field: string, { key, raw }: Stored): string => {
  const slash = key.indexOf('/')
  switch (field) {
    case 'metadata.name':
      return key.slice(slash + 1)
    case 'metadata.namespace':
      return slash < 0 ? '' : key.slice(0, slash)
    case 'spec.clusterIP':
      return readService(raw).clusterIP
    case 'spec.type':
      return readService(raw).type
    default:
      return String(readUnschedulable(raw))
  }
}

/** What a field must be, and what it must not be. */
interface Condition {
  readonly field: string
  readonly equal: ReadonlySet<string>
  readonly others: ReadonlySet<string>
}

const conditionsOf = (terms: readonly FieldTerm[]): readonly Condition[] => {
  const fields = new Set(terms.map(({ field }) => field))
  const valuesOf = (field: string, isEqual: boolean): ReadonlySet<string> =>
    new Set(
      terms
        .filter(term => term.field === field && term.isEqual === isEqual)
        .map(({ value }) => value),
    )
  return [...fields].map(field => ({
    ...{ field, equal: valuesOf(field, true), others: valuesOf(field, false) },
  }))
}

/** Each field of a record is read once, however many terms name it. */
const isMet = ({ field, equal, others }: Condition, record: Stored): boolean => {
  const value = valueOf(field, record)
  // Two different values that it must equal are met by none.
  return (equal.size === 0 || (equal.size === 1 && equal.has(value))) && !others.has(value)
}

const named = (terms: readonly FieldTerm[], field: string): string | undefined =>
  terms.find(term => term.field === field && term.isEqual)?.value

const keyOf = ({ row, namespace }: Target, terms: readonly FieldTerm[]): string | undefined => {
  const name = named(terms, 'metadata.name')
  if (name === undefined || !row.isNamespaced) return name
  const inside = namespace ?? named(terms, 'metadata.namespace')
  return inside === undefined ? undefined : `${inside}/${name}`
}

/** @throws Refusal 400 */
export const parseSelection = (target: Target, query: URLSearchParams): Chosen => {
  const { row, namespace } = target
  const labelText = query.get('labelSelector') ?? ''
  const byLabels = parseLabelSelector(labelText)
  const terms = parseFieldSelector(query.get('fieldSelector') ?? '', complaint(row))
  const conditions = conditionsOf(terms)
  const prefix = namespace === undefined ? undefined : `${namespace}/`
  const isSelective = labelText !== '' || terms.length > 0
  if (!isSelective && prefix === undefined)
    return { selection: undefined, key: undefined, isSelective }
  const selection: Selection = (record, labels) =>
    (prefix === undefined || record.key.startsWith(prefix)) &&
    conditions.every(condition => isMet(condition, record)) &&
    (labelText === '' || byLabels(labels()))
  return { selection, key: keyOf(target, terms), isSelective }
}

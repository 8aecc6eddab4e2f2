// SPDX-License-Identifier: Apache-2.0
import * as fields from '../../kube/server/field-selector.js'
import type { Labels } from '../../kube/label-selector.js'
import * as labels from '../../kube/server/label-selector.js'
import { isMap, textAt, type KubeObject } from './object.js'

/** Says whether an object is wanted. */
export type Match = (object: KubeObject) => boolean

const labelsOf = (object: KubeObject): Labels => {
  const { labels } = object.metadata
  return { get: key => (isMap(labels) && Object.hasOwn(labels, key) ? labels[key] : undefined) }
}

/**
 * A label selector over objects.
 * @throws Refusal 400 when it does not parse.
 */
export const parseLabelSelector = (text: string): Match => {
  const match = labels.parseLabelSelector(text)
  return object => match(labelsOf(object))
}

/**
 * A field selector over objects.
 * @param paths which labels the kind serves, and where each is found in the stored object; `path=x`: x if it is absent.
 * @throws Refusal 400 when it does not parse or the kind does not serve a field.
 */
export const parseFieldSelector = (
  text: string,
  paths: Readonly<Record<string, string>>,
): Match => {
  const all = fields.parseFieldSelector(text, field =>
    Object.hasOwn(paths, field) ? undefined : `field label not supported: ${field}`,
  )
  return object =>
    all.every(({ field, isEqual, value }) => {
      const [path, absent = ''] = paths[field]!.split('=')
      return ((textAt(object, path!) || absent) === value) === isEqual
    })
}

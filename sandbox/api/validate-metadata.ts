// SPDX-License-Identifier: Apache-2.0
import type { StatusCause } from '../../core/errors.js'
import { SUBDOMAIN } from '../../core/label.js'
import { isQualifiedName, NAME_PART, required, wrong } from './field-causes.js'
import { mapAt, type JsonMap, type KubeObject } from './object.js'

const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

const checkLabels = (metadata: JsonMap): StatusCause[] =>
  Object.entries(mapAt(metadata, 'labels')).flatMap(([key, value]) => {
    const text = String(value)
    if (!isQualifiedName(key))
      return [wrong('metadata.labels', key, 'name part must consist of alphanumeric characters')]
    if (text !== '' && (text.length > 63 || !NAME_PART.test(text)))
      return [
        wrong(
          'metadata.labels',
          text,
          'a valid label must be an empty string or consist of alphanumeric characters',
        ),
      ]
    return []
  })

const checkAnnotations = (metadata: JsonMap): StatusCause[] =>
  Object.keys(mapAt(metadata, 'annotations')).flatMap(key =>
    isQualifiedName(key.toLowerCase())
      ? []
      : [wrong('metadata.annotations', key, 'name part must consist of alphanumeric characters')],
  )

/** What is wrong with an object's name, labels and annotations. */
export const checkMetadata = (object: KubeObject): readonly StatusCause[] => {
  const { metadata } = object
  const name = metadata.name
  const causes: StatusCause[] = []
  if (name === '') causes.push(required('metadata.name', 'name or generateName is required'))
  else if (name.length > 253 || !SUBDOMAIN.test(name))
    causes.push(wrong('metadata.name', name, SUBDOMAIN_RULE))
  return [...causes, ...checkLabels(metadata), ...checkAnnotations(metadata)]
}

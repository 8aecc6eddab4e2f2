// SPDX-License-Identifier: Apache-2.0
import { isScalar, parseDocument } from 'yaml'
import { tooLarge } from '../../kube/server/status.js'
import type { Place, Sought } from './json-places.js'

/** Longer YAML is not parsed: what is broken takes up to 30 ms per KiB. */
export const MAX_PARSED_BYTES = 2 << 10
const MAX_BYTES = 64 << 10

const parsedPlaces = (yaml: string, { path, value }: Sought): readonly Place[] => {
  // Both would take time that grows with the square of the length; the apiserver judges the document.
  const node = parseDocument(yaml, { prettyErrors: false, uniqueKeys: false }).getIn(path, true)
  if (!isScalar(node) || node.value !== value || !node.range) return []
  const [start, end] = node.range
  return [{ start, end }]
}

const LINE = /.*\n?/g
/** Empty, or a comment. */
const BLANK = /^ *(?:#.*)?$/
const MAPPING = /^(["']?)([A-Za-z]+)\1: *(?:#.*)?$/
const MEMBER = /^( +)(["']?)([A-Za-z]+)\2: +((["'])(\d+)\5) *(?:#.*)?$/

/** Where in the line what is sought is given, as a member that is so far indented. */
const placeIn = (
  line: string,
  indent: number,
  { path: [, inner], value }: Sought,
): Place | undefined => {
  const [, spaces = '', , key, quoted = '', , given] = MEMBER.exec(line) ?? []
  if (spaces.length !== indent || key !== inner || given !== value) return undefined
  const start = line.indexOf(quoted)
  return { start, end: start + quoted.length }
}

/** Reads the members of a mapping in block style, line by line, as `kubectl get -o yaml` writes them. */
const blockPlaces = (yaml: string, sought: Sought): readonly Place[] => {
  const places: Place[] = []
  let isInside = false
  let indent = 0
  for (const { 0: whole, index } of yaml.matchAll(LINE)) {
    const line = whole.trimEnd()
    if (BLANK.test(line)) continue
    if (!line.startsWith(' ')) {
      isInside = MAPPING.exec(line)?.[2] === sought.path[0]
      indent = 0
    } else if (isInside) {
      indent ||= line.search(/[^ ]/)
      const place = placeIn(line, indent, sought)
      if (place) places.push({ start: index + place.start, end: index + place.end })
    }
  }
  return places
}

/**
 * The places of what is sought in YAML that names it.
 * @throws Refusal 413 when it is long, and not plainly in block style
 */
export const placesInYaml = (yaml: string, sought: Sought): readonly Place[] => {
  if (yaml.length <= MAX_PARSED_BYTES) return parsedPlaces(yaml, sought)
  const places = yaml.length <= MAX_BYTES ? blockPlaces(yaml, sought) : []
  if (places.length > 0) return places
  throw tooLarge(
    `YAML that names a version must be in block style, or at most ${MAX_PARSED_BYTES} bytes; send JSON`,
  )
}

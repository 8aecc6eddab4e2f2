// SPDX-License-Identifier: Apache-2.0
import type { Place, Sought } from './json-places.js'

/** Longer YAML is not searched. Objects that are written back are far shorter. */
export const MAX_YAML_BYTES = 64 << 10

const MAPPING = /^(["']?)([A-Za-z]+)\1: *(?:#.*)?$/
const MEMBER = /^ +(["']?)([A-Za-z]+)\1: +((["'])(\d+)\4) *(?:#.*)?$/

/** Escapes that can be a letter, or join two lines of a word. */
const SPELLING = /\\[xuU\r\n\x80-\xff]/

/**
 * Whether YAML may have such a key, in whatever style. One that is encoded (`!!binary`) is not seen: the apiserver then
 * takes the version for an old one.
 */
export const mayHaveKey = (yaml: string, key: string): boolean =>
  yaml.includes(key) || SPELLING.test(yaml)

/** Where in the line what is sought is given. */
const placeIn = (line: string, { path: [, inner], value }: Sought): Place | undefined => {
  const [, , key, quoted = '', , given] = MEMBER.exec(line) ?? []
  if (key !== inner || given !== value) return undefined
  const start = line.indexOf(quoted)
  return { start, end: start + quoted.length }
}

/**
 * The places of what is sought in YAML in block style, as `kubectl get -o yaml` writes it. It is read line by line: a parser
 * of all of YAML takes up to 80 ms for a KiB that is broken. What is not plainly in block style, or long, has no places.
 */
export const placesInYaml = (yaml: string, sought: Sought): readonly Place[] => {
  const places: Place[] = []
  if (yaml.length > MAX_YAML_BYTES) return places
  let isInside = false
  let memberIndent = 0
  let next = 0
  for (const whole of yaml.split('\n')) {
    const line = whole.trimEnd()
    const start = next
    next += whole.length + 1
    const indent = line.search(/[^ ]/)
    if (indent < 0 || line[indent] === '#') continue
    if (indent === 0) {
      isInside = MAPPING.exec(line)?.[2] === sought.path[0]
      memberIndent = 0
    } else if (isInside) {
      memberIndent ||= indent
      const place = indent === memberIndent ? placeIn(line, sought) : undefined
      if (place) places.push({ start: start + place.start, end: start + place.end })
    }
  }
  return places
}

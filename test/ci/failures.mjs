// SPDX-License-Identifier: Apache-2.0
// What failed is told again at the end of `.ci/run`, whose output is long and often kept only in part.

const FAILED = /^(\s*)not ok\b/
const DETAILS = 12
const LAST_LINES = 10
const LIMIT = 40

const indentOf = line => /^ */.exec(line)[0].length

/** Feed it the lines of a part; `lines` gives those that tell why it failed, at most 40. */
export const makeFailureReader = () => {
  const failures = []
  let last = []
  let indent
  let room = 0
  return {
    line(line) {
      last = [...last.slice(1 - LAST_LINES), line]
      const found = FAILED.exec(line)
      const isDetail = indent !== undefined && indentOf(line) > indent && room > 0
      if (found) [indent, room] = [found[1].length, DETAILS]
      else if (isDetail) room--
      else indent = undefined
      if (indent !== undefined) failures.push(line)
    },
    /** Without a line that says `not ok` the last ones are all there is. */
    get lines() {
      const lines = failures.length > 0 ? failures : last
      const more = lines.length - LIMIT
      return more > 0 ? [...lines.slice(0, LIMIT), `and ${more} more lines`] : lines
    },
  }
}

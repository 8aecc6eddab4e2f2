// SPDX-License-Identifier: Apache-2.0
// Reads what tap writes with `--reporter=tap`: one line per test file as it ends, everything about a failure, the counts, and
// what tests say that they left out (testkit/share.ts).

const SUMMARY = /^# \{ (.*) \}$/
const FILE = /^(not ok|ok) \d+ - (\S+).*?# time=([\d.]+)ms/
const RESULT = /^(\s*)(not ok|ok) \d+/
/** A process of several files (runner/together.mjs) begins; one of them ends; it ends well. */
const GROUP = /^# Subtest: \.cache\/together\//
const FILE_OF_GROUP = /^ {4}(not ok|ok) \d+ - (test\/\S+\.test\.ts) # time=([\d.]+)ms/
const GROUP_ENDS = /^ok \d+ - \.cache\/together\//
const HEADING = /^(\s*)# Subtest: /
const PLAN = /^\s*1\.\.\d+/
const LEFT_OUT = /^\s*# left out: ((\d+) of \d+ .*)$/

/** `total: 5, pass: 3, fail: 1, todo: 1` → counts; undefined when the numbers do not add up or there are none. */
export const parseSummary = text => {
  const counts = { total: 0, pass: 0, fail: 0, todo: 0, skip: 0 }
  for (const part of text.split(', ')) {
    const [, key, value] = /^(\w+): (\d+)$/.exec(part) ?? []
    if (key === undefined || !(key in counts)) return undefined
    counts[key] = Number(value)
  }
  const sum = counts.pass + counts.fail + counts.todo + counts.skip
  return counts.total > 0 && sum === counts.total ? counts : undefined
}

/**
 * Feed it whole lines. `print` gets lines for people: a file that passed is one line, of a file that failed everything
 * but its passing assertions follows, under the headings that it stood under.
 */
export const makeTapReader = print => {
  let summary
  let headings = []
  let kept = []
  let isPassing = true
  let isGroup = false
  /** Of the file that runs, in words; of all files, counted. */
  let missing = []
  const leftOut = { cases: 0, files: 0 }
  const keep = line => {
    const indent = /^ */.exec(line)[0].length
    kept.push(...headings.filter(heading => heading.indent <= indent).map(heading => heading.line))
    headings = headings.filter(heading => heading.indent > indent)
    kept.push(line)
  }
  const endFile = ([, verdict, file, ms]) => {
    const seconds = (Number(ms) / 1000).toFixed(1).padStart(6)
    const without = missing.length > 0 ? ` (left out: ${missing.join(', ')})` : ''
    if (missing.length > 0) leftOut.files++
    print(`    ${verdict === 'ok' ? 'ok    ' : 'not ok'} ${seconds} s  ${file}${without}`)
    if (verdict !== 'ok') for (const line of kept) print(`      ${line}`)
    headings = []
    kept = []
    missing = []
    isPassing = true
  }
  const inner = line => {
    const [, what, count] = LEFT_OUT.exec(line) ?? []
    if (what !== undefined) {
      missing.push(what)
      leftOut.cases += Number(count)
      return
    }
    const heading = HEADING.exec(line)
    if (heading) {
      headings.push({ indent: heading[1].length, line })
      return
    }
    const result = RESULT.exec(line)
    if (result) {
      isPassing = result[2] === 'ok'
      if (isPassing) headings = headings.filter(h => h.indent !== result[1].length)
      else keep(line)
    } else if (!isPassing && !PLAN.test(line) && line.trim() !== '') keep(line)
  }
  return {
    line(line) {
      const last = SUMMARY.exec(line)
      if (last) {
        summary = parseSummary(last[1])
        return
      }
      if (/^\S/.test(line)) isGroup = GROUP.test(line)
      if (GROUP_ENDS.test(line)) return
      const file = FILE.exec(line) ?? (isGroup ? FILE_OF_GROUP.exec(line) : null)
      if (file) endFile(file)
      else inner(line)
    },
    /** The counts of tap's last line; undefined when it never came, or does not add up. */
    get summary() {
      return summary
    },
    /** Cases that a whole run plays, and in how many files they are. */
    get leftOut() {
      return leftOut
    },
    /** What belongs to a file that never ended. */
    get rest() {
      return kept
    },
  }
}

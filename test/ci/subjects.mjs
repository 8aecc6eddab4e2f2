// SPDX-License-Identifier: Apache-2.0
// Subjects of commits as CONTRIBUTING.md asks for them:
//   node test/ci/subjects.mjs origin/main..HEAD
import { spawnSync } from 'node:child_process'
import { argv } from 'node:process'
import { pathToFileURL } from 'node:url'

export const MAX_LENGTH = 72
/** Says that something was done, not what. */
const EMPTY =
  /^(fix(es|ed)?|wip|update[sd]?|change[sd]?|misc|cleanup|clean up|refactor(ing)?|review)$/i

/** Why a subject tells a stranger too little; undefined when it is as it should be. */
export const troubleOf = subject => {
  const [, area, what = ''] = /^([^:]+): (.*)$/.exec(subject) ?? []
  if (area === undefined) return 'must begin with its area: `vote: what it does now`'
  if (!/^[a-z][a-z0-9/-]*(, [a-z][a-z0-9/-]*)*$/.test(area))
    return `area must be names of folders or parts in lower case, got '${area}'`
  if (subject.length > MAX_LENGTH)
    return `must have at most ${MAX_LENGTH} characters, has ${subject.length}`
  if (what.endsWith('.')) return 'must not end with a full stop'
  if (EMPTY.test(what) || what.split(' ').length < 2)
    return `must say what it does now, got '${what}'`
  return undefined
}

const check = range => {
  const { status, stdout, stderr } = spawnSync(
    'git',
    ['log', '--no-merges', '--format=%s', range],
    {
      encoding: 'utf8',
    },
  )
  if (status !== 0) throw new Error(stderr.trim())
  const subjects = stdout.split('\n').filter(line => line !== '')
  const bad = subjects.flatMap(subject => {
    const trouble = troubleOf(subject)
    return trouble === undefined ? [] : [`${subject}\n    ${trouble}`]
  })
  for (const line of bad) console.error(line)
  console.log(
    `${subjects.length - bad.length} of ${subjects.length} subjects are as they should be`,
  )
  return bad.length === 0
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const [range] = argv.slice(2)
  if (range === undefined) {
    console.error('a range of commits must be given, such as origin/main..HEAD')
    process.exitCode = 2
  } else process.exitCode = check(range) ? 0 : 1
}

// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const { troubleOf, MAX_LENGTH } = (await import(
  new URL('./subjects.mjs', import.meta.url).href
)) as {
  troubleOf: (subject: string) => string | undefined
  MAX_LENGTH: number
}

const rows: [subject: string, want: RegExp | undefined][] = [
  ['vote: hold when most of a zone looks dead', undefined],
  ['net, writer: names that the field uses', undefined],
  ['agent/commun: a message that was held back is old', undefined],
  ['hold when most of a zone looks dead', /must begin with its area/],
  ['Vote: hold when most of a zone looks dead', /got 'Vote'/],
  ['vote:hold', /must begin with its area/],
  ['vote: fix', /what it does now, got 'fix'/],
  ['vote: refactoring', /what it does now/],
  ['vote: hold when most of a zone looks dead.', /full stop/],
  [`vote: ${'so '.repeat(30)}long`, /at most 72 characters, has 100/],
]
t.test('a subject says what a commit does now', async t => {
  for (const [subject, want] of rows) {
    const trouble = troubleOf(subject)
    if (want === undefined) t.equal(trouble, undefined, subject)
    else t.match(trouble, want, subject)
  }
  const rules = readFileSync(join(import.meta.dirname, '..', '..', 'CONTRIBUTING.md'), 'utf8')
  t.ok(rules.includes(`at most ${MAX_LENGTH} characters`), 'as the rules say')
})

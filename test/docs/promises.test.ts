// SPDX-License-Identifier: Apache-2.0
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
/** Where lines are broken does not matter. */
const flat = (text: string) => text.replace(/\s+/g, ' ').trim()

interface Promised {
  readonly page: string
  readonly sentence: string
  readonly tests: readonly string[]
}
const parsePromises = (text: string): Promised[] => {
  const found: { page: string; sentence: string; tests: string[] }[] = []
  let page = ''
  for (const line of text.split('\n')) {
    const [, mark, rest = ''] = /^(## |- | {2}- )(.+)$/.exec(line) ?? []
    if (mark === '## ') page = rest
    else if (mark === '- ') found.push({ page, sentence: flat(rest), tests: [] })
    else if (mark !== undefined) found.at(-1)?.tests.push(rest)
  }
  return found
}
const promises = parsePromises(read('test/docs/promises.md'))
const pages = [...new Set(promises.map(({ page }) => page))]
const texts = new Map(pages.map(page => [page, read(page)]))

t.test('every promise stands in its page, once in the list, and names its tests', t => {
  t.strictSame(pages, ['README.md', 'docs/security.md'])
  const seen = new Set<string>()
  for (const { page, sentence, tests } of promises) {
    t.ok(flat(texts.get(page) ?? '').includes(sentence), `${page}: ${sentence}`)
    t.notOk(seen.has(`${page} ${sentence}`), `once: ${sentence}`)
    seen.add(`${page} ${sentence}`)
    t.ok(tests.length > 0, `has a test: ${sentence}`)
  }
  t.end()
})

t.test('every test that is named exists', t => {
  for (const { tests, sentence } of promises) {
    for (const test of tests) {
      if (/^No test: ./.test(test)) continue
      const [, file = '', name = ''] = /^`(test\/.+)`: (.+)$/.exec(test) ?? []
      const path = join(root, file)
      const text = file !== '' && existsSync(path) ? readFileSync(path, 'utf8') : ''
      // A beginning of several titles ends in an ellipsis.
      const isNamed = ["'", '"', '`'].some(quote =>
        text.includes(name.endsWith(' …') ? quote + name.slice(0, -1) : quote + name + quote),
      )
      t.ok(name !== '' && isNamed, `${sentence}: ${test}`)
    }
  }
  t.end()
})

/** What promises something in a page: bullets and rows one by one, paragraphs as a whole. */
const partsOf = (text: string): string[] =>
  text
    .replace(/```[\s\S]*?```/g, '')
    .split(/\n\n+/)
    .filter(block => block.trim() !== '' && !block.startsWith('#'))
    .flatMap(block => {
      if (block.startsWith('- ')) return block.split(/\n(?=- )/)
      // The head of a table, and the line below it, promise nothing.
      if (block.startsWith('| ')) return block.split('\n').slice(2)
      return [block]
    })
    .map(flat)
const sectionsOf = (text: string, headings: readonly string[]): string =>
  headings
    .map(heading => {
      const from = text.indexOf(`\n## ${heading}\n`)
      t.ok(from >= 0, heading)
      return text.slice(from + heading.length + 5).split(/\n## /)[0] ?? ''
    })
    .join('\n\n')

/** Parts that say what somebody can do, how something was measured, or what another part promises as a whole. */
const EXPLAINS = [
  '| can write ConfigMaps or the Secret in `edge-system` | change who votes, and the key |',
  ...['The tests of each promise below: ', 'In the [lab]', 'Other accounts:'],
  ...['| cluster | nodes: ', '| `edge-system` | ConfigMaps '],
  ...[
    '| `edge-system` | Secret ',
    '| `kube-node-lease` | leases: ',
    '| `default` | events.k8s.io: ',
  ],
]
t.test('no part of the pages promises without a test', t => {
  const readme = read('README.md')
  const headings = ['What it is not', 'What it promises', 'What it cannot do']
  const parts = {
    'README.md': partsOf(sectionsOf(readme, headings)),
    'docs/security.md': partsOf(read('docs/security.md')),
  }
  const stale = new Set(EXPLAINS)
  for (const [page, list] of Object.entries(parts)) {
    const sentences = promises.filter(promise => promise.page === page).map(each => each.sentence)
    for (const part of list) {
      if (sentences.some(sentence => part.includes(sentence))) continue
      const start = EXPLAINS.find(start => part.startsWith(start)) ?? ''
      t.not(
        start,
        '',
        `${page}: a sentence of this part belongs into test/docs/promises.md: ${part}`,
      )
      stale.delete(start)
    }
  }
  t.strictSame([...stale], [], 'EXPLAINS names no part that is gone')
  t.end()
})

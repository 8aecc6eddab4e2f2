// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Schema } from '../../testkit/json-schema.js'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const filesOf = (folder: string, ending: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith(ending))
    .map(name => join(folder, name))

const { PROGRAM_FOLDERS } = (await import(new URL('../../folders.mjs', import.meta.url).href)) as {
  PROGRAM_FOLDERS: readonly string[]
}
const code = PROGRAM_FOLDERS.flatMap(folder => filesOf(folder, '.ts'))
  .map(read)
  .join('\n')
const words = new Set(code.match(/[A-Za-z_][\w-]*[A-Za-z\d]/g))
const pages = filesOf('docs', '.md').filter(page => !page.endsWith('glossary.md'))
const prose = [...pages, 'README.md'].map(read).join('\n').toLowerCase()

const glossary = read('docs/glossary.md')
const rows = [...glossary.matchAll(/^\| ([^|]+?) +\| ([^|]+?) +\| `([^`|]+)` +\|$/gm)].map(
  ([, terms = '', means = '', name = '']) => ({ terms: terms.split(', '), means, name }),
)

t.test('each term is in the code under its name, and used in another page', t => {
  t.ok(rows.length > 50, `${rows.length} rows`)
  const seen = new Set<string>()
  for (const { terms, name } of rows) {
    t.ok(words.has(name), `${terms.join(', ')}: ${name} is in the code`)
    for (const term of terms) {
      t.ok(prose.includes(term.toLowerCase()), `${term} is used`)
      t.notOk(seen.has(term), `${term} stands once`)
      seen.add(term)
    }
  }
  t.end()
})

/** Strings of a union type, by the name of the type. */
const unionOf = (file: string, name: string): string[] => {
  const text = read(file).replace(/\/\*\*[\s\S]*?\*\//g, '')
  const [, union = ''] = new RegExp(`type ${name} =([^]*?)\\n\\n`).exec(text) ?? []
  return [...union.matchAll(/'([a-z-]+)'/g)].map(([, value = '']) => value)
}

t.test('each guard, class and refusal of the code is explained', t => {
  const { $defs = {} } = JSON.parse(read('docs/status.schema.json')) as Schema
  const enumOf = (part: string, field: string) => $defs[part]?.properties?.[field]?.enum ?? []
  const shown = ['status', 'operations', 'protocol'].map(page => read(`docs/${page}.md`)).join('\n')
  const spaced = (text: string) => text.toLowerCase().replaceAll('-', ' ')
  const explained = spaced(glossary + shown)
  const kinds = {
    guard: enumOf('guard', 'kind'),
    class: enumOf('node', 'class'),
    refusal: unionOf('agent/stages/exchange/refusal.ts', 'Refusal'),
  }
  for (const [what, values] of Object.entries(kinds)) {
    t.ok(values.length > 5, `${values.length} of ${what}`)
    for (const value of values) t.ok(explained.includes(spaced(value ?? '')), `${what} ${value}`)
  }
  t.end()
})

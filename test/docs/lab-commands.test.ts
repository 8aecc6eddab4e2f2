// SPDX-License-Identifier: Apache-2.0
// A command of the docs that the lab refuses has no figures: each is read as the lab reads it, and its cells must fit.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseLabOptions } from '../lab/options.js'
import { chooseCells } from '../lab/run-cells.js'

const root = join(import.meta.dirname, '..', '..')
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'))
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`),
]

const LAB = /^npm run lab(?: -- (.*))?$/

/** A program that the reader has. */
const PLACEHOLDER = /^(PATH|REVISION|\/tmp\/superedge-agent)$/

/** The arguments of each command, with what the shell makes of the variables of its block. */
const commandsOf = (page: string): readonly (readonly string[])[] =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^```sh\n(.*?)^```/gms)].flatMap(
    ([, block = '']) => {
      const lines = block.split('\n').map(line => line.replace(/\s+#.*$/, '').trim())
      const set = new Map(
        lines
          .flatMap(line => [...line.matchAll(/^([A-Z]+)=(\S+)$/g)])
          .map(([, name = '', value = '']) => [name, value] as const),
      )
      return lines.flatMap(line => {
        const args = LAB.exec(line)
        if (args === null) return []
        const filled = (args[1] ?? '').replace(/\$([A-Z]+)/g, (_, name: string) => {
          const value = set.get(name)
          if (value === undefined) t.fail(`${page}: ${line}: $${name} is not set`)
          return value ?? ''
        })
        return [filled.split(' ').filter(arg => arg !== '')]
      })
    },
  )

for (const page of pages) {
  const commands = commandsOf(page)
  if (commands.length === 0) continue
  t.test(page, async t => {
    for (const args of commands) {
      const given = args.map(arg => (PLACEHOLDER.test(arg) ? process.execPath : arg))
      t.doesNotThrow(() => {
        const options = parseLabOptions(given)
        if (options.command === 'cells') chooseCells(options)
      }, args.join(' '))
    }
  })
}

t.test('the pages with figures of the lab are among them', async t => {
  t.ok(commandsOf('docs/measurements.md').length > 10)
  t.ok(commandsOf('docs/security.md').length > 0)
})

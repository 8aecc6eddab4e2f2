// SPDX-License-Identifier: Apache-2.0
// Imports between the rooms of an agent: what `npm test -- --only imports` refuses.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..', '..')
const bin = join(root, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruise.mjs')
const config = join(root, '.dependency-cruiser.cjs')

const S = 'agent/stages'
const rows: [from: string, to: string, broken: string | undefined][] = [
  [`${S}/check/checker.ts`, `${S}/vote/voter.ts`, 'stages-meet-in-the-store'],
  [`${S}/exchange/engine.ts`, `${S}/write/stage.ts`, 'stages-meet-in-the-store'],
  [`${S}/vote/stage.ts`, 'agent/agent.ts', 'stages-see-nothing-above-them'],
  ['agent/store.ts', `${S}/check/stage.ts`, 'store-and-records-see-no-stage'],
  ['agent/turn-loop.ts', `${S}/write/writer.ts`, 'store-and-records-see-no-stage'],
  [`${S}/exchange/inbox.ts`, `${S}/exchange/superedge/go-json.ts`, 'superedge-has-one-door'],
  ['agent/views/views.ts', `${S}/exchange/superedge/go-json.ts`, 'superedge-has-one-door'],
  [`${S}/exchange/engine.ts`, `${S}/exchange/superedge/superedge.ts`, undefined],
  [`${S}/node-list/keys.ts`, 'agent/store.ts', undefined],
  [`${S}/check/stage.ts`, `${S}/stage.ts`, undefined],
  ['agent/agent.ts', `${S}/check/stage.ts`, undefined],
]

interface Cruise {
  readonly summary: {
    readonly violations: readonly { from: string; to: string; rule: { name: string } }[]
    readonly totalDependenciesCruised: number
  }
}

t.test('who goes from one room to another without the store is refused', t => {
  const cwd = t.testdir({
    'tsconfig.json': '{"compilerOptions":{"module":"nodenext"}}',
    'package.json': '{"type":"module"}',
  })
  for (const path of new Set(rows.flatMap(([from, to]) => [from, to]))) {
    const imports = rows.filter(([from]) => from === path)
    const lines = imports.map(([from, to], i) => {
      const spec = posix.relative(posix.dirname(from), to).replace(/[.]ts$/, '.js')
      return `export type { A as A${i} } from './${spec}'\n`
    })
    mkdirSync(join(cwd, posix.dirname(path)), { recursive: true })
    writeFileSync(join(cwd, path), `${lines.join('')}export type A = string\n`)
  }
  const args = [bin, '--config', config, '--output-type', 'json', 'agent']
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' })
  t.equal(stderr, '')
  const { violations, totalDependenciesCruised } = (JSON.parse(stdout) as Cruise).summary
  t.equal(totalDependenciesCruised, rows.length)
  for (const [from, to, broken] of rows) {
    const found = violations.filter(each => each.from === from && each.to === to)
    const names = found.map(({ rule }) => rule.name)
    t.strictSame(names, broken === undefined ? [] : [broken], `${from} imports ${to}`)
  }
  t.end()
})

// SPDX-License-Identifier: Apache-2.0
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..', '..')
const pages = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => join('docs', name)),
]
const read = (page: string) => readFileSync(join(root, page), 'utf8')

/** As GitHub makes anchors of headings. */
const anchorsOf = (text: string) =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

t.test('every link leads somewhere', t => {
  for (const page of pages) {
    const text = read(page).replace(/```[\s\S]*?```/g, '')
    for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link)) continue
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : join(dirname(page), path)
      t.ok(existsSync(join(root, target)), `${page} → ${link}`)
      if (anchor !== undefined) t.ok(anchorsOf(read(target)).includes(anchor), `${page} → ${link}`)
    }
  }
  t.end()
})

t.test('every source file that a page names exists', t => {
  const SOURCE =
    /(?<![\w/.-])(?:core|vote|plan|plugins|net|kube|options|controller|agent|sandbox|wrapper|grids|admission|bridge|cli|bench|test|testkit)\/[\w./-]*\.(?:ts|mjs|cjs)\b/g
  const named = pages
    .filter(page => page !== 'CHANGELOG.md')
    .flatMap(page => [...read(page).matchAll(SOURCE)].map(([file]) => ({ page, file })))
    // A name that its reader fills in.
    .filter(({ file }) => !file.includes('NAME'))
  t.ok(
    named.some(({ page, file }) => page.endsWith('architecture.md') && file.endsWith('stage.ts')),
  )
  for (const { page, file } of named) t.ok(existsSync(join(root, file)), `${page}: ${file}`)
  t.end()
})

t.test('the conventions fit on two pages', t => {
  t.ok(read('docs/conventions.md').split('\n').length < 120)
  t.end()
})

// Written for people; a flag or a metric that is gone must not stay in them.
const definitionsOf = (program: string): string => join(root, program, 'options', 'definitions.ts')
const definitions = definitionsOf('agent')
interface Options {
  readonly definitions: readonly {
    readonly flag: string
    readonly aliases?: readonly { readonly name: string }[]
  }[]
  readonly ignored: Readonly<Record<string, string>>
}
t.test('every option that a page names exists', { skip: !existsSync(definitions) }, async t => {
  const { agentOptionSet } = (await import(definitions)) as { agentOptionSet: Options }
  const wrapper = (await import(definitionsOf('wrapper'))) as { wrapperOptionSet: Options }
  const grids = (await import(definitionsOf('grids'))) as { gridsOptionSet: Options }
  const admission = (await import(definitionsOf('admission'))) as { admissionOptionSet: Options }
  const bridge = (await import(definitionsOf('bridge'))) as { bridgeOptionSet: Options }
  const sets = [
    ...[agentOptionSet, wrapper.wrapperOptionSet, bridge.bridgeOptionSet],
    ...[grids.gridsOptionSet, admission.admissionOptionSet],
  ]
  const known = new Set(
    sets.flatMap(({ definitions, ignored }) => [
      ...definitions.flatMap(({ flag, aliases = [] }) => [flag, ...aliases.map(each => each.name)]),
      ...Object.keys(ignored),
    ]),
  )
  // Of the command line, of the build and of V8; not the agent's options.
  for (const name of ['profile', 'config', 'print-config', 'help', 'agent', 'all']) known.add(name)
  for (const name of ['nodes', 'scene', 'keep', 'only', 'fast', 'watch', 'analyze']) known.add(name)
  for (const name of ['dir', 'days', 'force', 'unit', 'once', 'options-markdown']) known.add(name)
  for (const name of [
    'lite-mode',
    'max-semi-space-size',
    'v8-pool-size',
    'single-threaded-gc',
    'single-threaded',
    'jitless',
  ])
    known.add(name)
  known.add('optimize-for-size')
  for (const page of pages.filter(
    page => !/^docs\/(wrapper-|grids-|admission-|bridge-)?options\.md$/.test(page),
  )) {
    // Inline code only: blocks show other programs' commands.
    const text = read(page).replace(/```[\s\S]*?```/g, '')
    for (const [, code = ''] of text.matchAll(/`([^`\n]*)`/g)) {
      if (/^(npm|kubectl|docker|curl)\b/.test(code)) continue
      for (const [, flag = ''] of code.matchAll(/(?:^|\s)--([a-z][-a-z0-9]+)/g)) {
        t.ok(known.has(flag), `${page}: --${flag}`)
      }
    }
  }
})

t.test('every metric that a page names exists', t => {
  const source = (...path: string[]) => readFileSync(join(root, ...path), 'utf8')
  const shared = source('net', 'metrics-text.ts')
  const agent =
    shared + source('agent', 'http', 'metrics.ts') + source('agent', 'http', 'work-metrics.ts')
  const wrapper = shared + source('wrapper', 'status', 'metrics.ts')
  const grids = shared + source('grids', 'run', 'metrics.ts')
  const admission = shared + source('admission', 'run', 'metrics.ts')
  const bridge = shared + source('bridge', 'run', 'metrics.ts')
  const programs: Readonly<Record<string, string>> = { wrapper, grids, admission, bridge }
  const names = new Set<string>()
  for (const page of pages) {
    for (const [name] of read(page).matchAll(/edge_health_[a-z_]+/g)) names.add(name)
  }
  t.ok(names.size > 10)
  for (const name of names) {
    const short = name
      .replace(/^edge_health_(wrapper_|grids_|admission_|bridge_|node_)?/, '')
      .replace(/_total$/, '')
    const [, of] = /^edge_health_(wrapper|grids|admission|bridge)_/.exec(name) ?? []
    const program = programs[of ?? ''] ?? agent
    t.ok(program.includes(`'${short}'`), name)
  }
  t.end()
})

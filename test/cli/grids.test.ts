// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { readFileSync } from 'node:fs'
import { parseAllDocuments, stringify } from 'yaml'
import { lazyCommands } from '../../cli/lazy-commands.js'
import { optionsMarkdown } from '../../cli/options-markdown.js'
import { gridsOptionSet } from '../../grids/options/definitions.js'
import { deploymentGrid, serviceGrid } from '../../testkit/kube/grid-objects.js'
import { runCli } from '../../testkit/run-cli.js'

const node = (name: string, site: string) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { site } },
})
const NODES = stringify({
  apiVersion: 'v1',
  kind: 'List',
  items: [node('n1', 'north'), node('n2', 'south')],
})
const documents = (...objects: readonly unknown[]): string =>
  objects.map(object => stringify(object)).join('---\n')

const run = (line: string, files: Record<string, string> = {}) =>
  runCli(line.split(' '), { files: { 'nodes.yaml': NODES, ...files }, parts: { lazyCommands } })

const RENDER = 'grids render -f grids.yaml --nodes nodes.yaml'

interface Printed {
  readonly metadata: { readonly name: string }
}
const namesOf = (out: string): readonly string[] => {
  const all = parseAllDocuments(out)
  return Array.isArray(all) ? all.map(document => (document.toJS() as Printed).metadata.name) : []
}

t.test('what grids make of nodes, as YAML', async t => {
  const { code, out, err } = await run(RENDER, {
    'grids.yaml': documents(deploymentGrid('web'), serviceGrid('web')),
  })
  t.equal(code, 0)
  t.equal(err, '')
  t.strictSame(namesOf(out), ['web-north', 'web-south', 'web-svc'])
  t.match(out, /^---\n# DeploymentGrid default\/web, unit north\napiVersion: apps\/v1\n/)
  t.match(out, /\n# ServiceGrid default\/web, all units\n/)
  t.notMatch(out, /[&*]a1/, 'no document is told by references')
})

t.test('as JSON: one list', async t => {
  const { code, out } = await run(`${RENDER} -o json`, {
    'grids.yaml': documents(deploymentGrid('web')),
  })
  t.equal(code, 0)
  const list = JSON.parse(out) as { kind: string; items: readonly Printed[] }
  t.equal(list.kind, 'List')
  t.strictSame(
    list.items.map(item => item.metadata.name),
    ['web-north', 'web-south'],
  )
})

t.test('one unit', async t => {
  const files = { 'grids.yaml': documents(deploymentGrid('web'), serviceGrid('web')) }
  const one = await run(`${RENDER} --unit south`, files)
  t.strictSame([one.code, namesOf(one.out)], [0, ['web-south']])
  const none = await run(`${RENDER} --unit soth`, files)
  t.strictSame([none.code, none.out], [2, ''])
  t.equal(
    none.err,
    'edge-health: --unit must be one of the 2 units (did you mean south?), got "soth"\n',
  )
})

t.test('an invalid grid stops no valid one', async t => {
  const bad = deploymentGrid('bad', { gridUniqKey: 'bad key!' })
  const half = deploymentGrid('half', { templates: { north: 'gone' } })
  const grids = documents(
    bad,
    half,
    { kind: 'ConfigMap', metadata: { name: 'c' } },
    deploymentGrid('web'),
  )
  const { code, out, err } = await run(RENDER, {
    'grids.yaml': `${grids}---\na: [\n---\n---\n${stringify(deploymentGrid('web'))}`,
  })
  t.equal(code, 1)
  t.strictSame(namesOf(out), ['half-south', 'web-north', 'web-south'])
  const lines = err.trimEnd().split('\n')
  t.match(lines, [
    /^edge-health: grids\.yaml, document 1: DeploymentGrid default\/bad: spec\.gridUniqKey must be the key of a node label, got "bad key!"$/,
    /^edge-health: grids\.yaml, document 3: ConfigMap default\/c is not a grid and is ignored$/,
    /^edge-health: grids\.yaml, document 5 must be YAML: /,
    /^edge-health: grids\.yaml, document \d: DeploymentGrid default\/web must be given once$/,
    /^edge-health: DeploymentGrid default\/half, unit north: TemplateMissing: template "gone" is not in spec\.templatePool; there are default$/,
  ])
  t.equal(lines.length, 5)
})

t.test('a Service that cannot be', async t => {
  const nodes = Array.from({ length: 17 }, (_, at) => ({
    ...{
      kind: 'Node',
      metadata: { name: `n${at}`, labels: { [`u${at}`]: 'nodeunits.superedge.io' } },
    },
  }))
  const { code, err } = await run(RENDER, {
    'grids.yaml': documents(serviceGrid('web', { gridUniqKey: undefined, nodeUnits: {} })),
    'nodes.yaml': JSON.stringify({
      kind: 'NodeList',
      apiVersion: 'v1',
      items: nodes.map(({ metadata }) => ({ metadata })),
    }),
  })
  t.equal(code, 1)
  t.match(
    err,
    /^edge-health: ServiceGrid default\/web: TooManyUnits: a Service can name at most 16 NodeUnits, got 17/,
  )
})

t.test('several files, and anchors', async t => {
  const { code, out } = await run('grids render -f a.yaml --file b.yaml --nodes nodes.yaml', {
    'a.yaml': documents(deploymentGrid('a')),
    'b.yaml': `apiVersion: superedge.io/v1
kind: DeploymentGrid
metadata: {name: b}
spec:
  gridUniqKey: site
  template:
    selector: {matchLabels: &labels {app: b}}
    template: {metadata: {labels: {<<: *labels}}, spec: {containers: []}}
`,
  })
  t.strictSame([code, namesOf(out)], [0, ['a-north', 'a-south', 'b-north', 'b-south']])
})

t.test('bad usage', async t => {
  const rows: [line: string, files: Record<string, string>, err: RegExp][] = [
    ['grids render --nodes nodes.yaml', {}, /^edge-health: --file must be given\n$/],
    ['grids render -f grids.yaml', {}, /^edge-health: --nodes must be given\n$/],
    [
      RENDER,
      {},
      /^edge-health: --file must be a readable file \(no such file\), got "grids\.yaml"\n$/,
    ],
    [
      'grids render -f grids.yaml --nodes none.yaml',
      {},
      /^edge-health: --nodes must be a readable file/,
    ],
    [
      RENDER,
      { 'grids.yaml': '', 'nodes.yaml': 'a: [' },
      /^edge-health: nodes\.yaml, document 1 must be YAML: /,
    ],
    [
      RENDER,
      { 'grids.yaml': '', 'nodes.yaml': '{"a": ' },
      /^edge-health: nodes\.yaml, document 1 must be YAML: /,
    ],
    [
      RENDER,
      { 'grids.yaml': '', 'nodes.yaml': 'kind: Pod\nmetadata: {name: p}' },
      /^edge-health: Pod default\/p: kind must be "Node", got "Pod"\n$/,
    ],
    [
      RENDER,
      { 'grids.yaml': '', 'nodes.yaml': '*no' },
      /^edge-health: nodes\.yaml, document 1 must be YAML: /,
    ],
    [
      `${RENDER} --output text`,
      {},
      /^edge-health: --output must be one of yaml, json, got "text"\n$/,
    ],
    ['grids rendr', {}, /^edge-health: unknown command 'rendr' \(did you mean render\?\)\n$/],
  ]
  for (const [line, files, message] of rows) {
    const { code, out, err } = await run(line, files)
    t.strictSame([code, out], [2, ''], line)
    t.match(err, message, line)
  }
})

t.test('no grids, no children', async t => {
  t.strictSame(await run(RENDER, { 'grids.yaml': '' }), { code: 0, out: '', err: '' })
})

t.test('--help', async t => {
  const { code, out } = await run('grids render --help')
  t.equal(code, 0)
  t.match(out, /-f, --file <path>.*\n.*--nodes <path>/)
  t.match(out, /Exit codes: 0 done, 1 a grid is invalid/)
})

t.test('the controller: --help, --print-config and the page of options', async t => {
  const { code, out } = await run('grids --help')
  t.equal(code, 0)
  t.match(out.replaceAll(/\s+/g, ' '), /--unit-grace <duration> how long .* \(default 5m\)/)
  t.match(out, /render \[options\]/)
  t.match(out, /Exit codes: 0 stopped by a signal/)
  const printed = await run('grids --print-config --master http://127.0.0.1:1 --worker 4')
  t.match(printed.out, /^master-url: http:\/\/127\.0\.0\.1:1 +# --master$/m)
  const refused = await run('grids --unit-grace 5')
  t.strictSame([refused.code, refused.out], [2, ''])
  t.match(refused.err, /^edge-health: --unit-grace must be a duration .*, got "5"\n$/)
  const none = await run('grids --once --kubeconfig /nonexistent')
  t.equal(none.code, 1)
  t.match(none.err, /cannot read the kubeconfig file \/nonexistent/)
  const page = readFileSync(new URL('../../docs/grids-options.md', import.meta.url), 'utf8')
  t.equal(
    page,
    optionsMarkdown(gridsOptionSet),
    'make it anew: edge-health grids --options-markdown > docs/grids-options.md',
  )
  t.equal((await run('grids --options-markdown')).out, page)
})

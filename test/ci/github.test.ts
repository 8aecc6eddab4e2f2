// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] }>>
}
interface Step {
  readonly run?: string
  readonly uses?: string
  readonly with?: Readonly<Record<string, unknown>>
}

t.test('the workflow calls .ci/run with the versions that we name', async t => {
  const workflow = parse(read('.github/workflows/ci.yml')) as Workflow
  const steps = Object.values(workflow.jobs).flatMap(job => job.steps)
  t.strictSame(workflow.permissions, { contents: 'read' })
  const commands = steps.flatMap(({ run = [] }) => run)
  t.equal(commands.filter(command => command.endsWith(' .ci/run')).length, 1)
  const version = (action: string, key: string) =>
    String(steps.find(({ uses }) => uses?.startsWith(`${action}@`))?.with?.[key])
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
  t.equal(`>=${version('actions/setup-node', 'node-version')}`, engines.node.split('.')[0])
  const [, go = ''] = /^# Debian or alike, root, .*Go (\S+)\. /m.exec(read('.ci/run')) ?? []
  t.equal(version('actions/setup-go', 'go-version'), go)
})

t.test('.ci/run plays every case of the tests', async t => {
  const lines = read('test/ci/run.mjs').split('\n')
  const calls = lines.filter(line => line.includes("['test/run.mjs'"))
  t.ok(calls.length > 0)
  for (const call of calls) t.match(call, "'--all'")
})

interface Form {
  readonly body: readonly {
    readonly id?: string
    readonly attributes: { readonly label?: string; readonly description?: string }
    readonly validations?: { readonly required: boolean }
  }[]
}
t.test('a report of a fault asks for what shows where it is', async t => {
  const form = parse(read('.github/ISSUE_TEMPLATE/bug.yml')) as Form
  const required = form.body.filter(({ validations }) => validations?.required)
  const text = required.map(({ attributes }) => Object.values(attributes).join(' ')).join('\n')
  for (const command of ['version', 'status', 'explain NODE'])
    t.ok(text.includes(`edge-health ${command}\``), command)
})

t.test('every form can be read', async t => {
  const folder = '.github/ISSUE_TEMPLATE'
  for (const name of readdirSync(join(root, folder)).filter(name => name !== 'config.yml')) {
    const form = parse(read(join(folder, name))) as Form
    const ids = form.body.flatMap(({ id = [] }) => id)
    t.equal(new Set(ids).size, ids.length, `${name}: no id twice`)
    t.ok(ids.length > 0, name)
  }
  t.ok(read('.github/pull_request_template.md').includes('`npm test`'))
})

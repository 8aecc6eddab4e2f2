// SPDX-License-Identifier: Apache-2.0
// Makes those parts of charts/edge-health that are made: `files`, objects that are deploy/'s but for the namespace, and `readme`, which
// helm-docs writes from values.yaml. With --check nothing is written, and exit 1 says that one is not as it would be.
//   node testkit/helm/chart.mjs [--check] [files] [readme]
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { format, resolveConfig } from 'prettier'

const root = join(import.meta.dirname, '..', '..')
const chart = join(root, 'charts', 'edge-health')
const component = path => readFileSync(join(root, 'deploy', 'components', path), 'utf8')
/** Where testkit/tools.mjs puts programs. */
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'edge-health-lab', 'tools') // prettier-ignore

const COPIED = [
  ...['grids/crds', 'grids/rbac', 'grids/policies', 'bridge/rbac', 'bridge/policies'],
  ...['webhook/rbac', 'webhook/policies', 'webhook/registration', 'webhook-pods/registration'],
  ...['keep/policy', 'prometheus-rules/rules'],
].map(name => `${name}.yaml`)

const DASHBOARDS = ['fleet', 'programs', 'zone'].map(name => `dashboards/edge-health-${name}.json`)

const HELM_DOCS = [
  '--chart-search-root=charts',
  '--dry-run',
  '--log-level=error',
  '--sort-values-order=file',
]

const readme = async () => {
  const PATH = [process.env.PATH ?? '', cache].join(delimiter)
  const env = { ...process.env, PATH }
  const { status, error, stdout, stderr } = spawnSync('helm-docs', HELM_DOCS, {
    ...{ cwd: root, env, encoding: 'utf8' },
  })
  if (error?.code === 'ENOENT')
    throw new Error('no helm-docs here: "node testkit/tools.mjs helm-docs" gets it')
  if (status !== 0 || stdout === '') throw new Error(`helm-docs: ${stderr}`)
  const bare = stdout.split('\n').filter(line => /^\|.*\|\s*\|$/.test(line))
  if (bare.length > 0) throw new Error(`nothing is said of ${bare.join('\n')}`)
  const path = join(chart, 'README.md')
  return format(stdout, { ...(await resolveConfig(path)), filepath: path })
}

const PARTS = {
  files: () => [...COPIED, ...DASHBOARDS].map(path => [`files/${path}`, component(path)]),
  readme: async () => [['README.md', await readme()]],
}

const read = path => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

const isCheck = process.argv.includes('--check')
const asked = process.argv.slice(2).filter(word => word !== '--check')
const unknown = asked.find(word => !(word in PARTS))
if (unknown !== undefined) {
  console.error(`a part must be one of ${Object.keys(PARTS).join(', ')}, got ${unknown}`)
  process.exit(2)
}
for (const part of asked.length === 0 ? Object.keys(PARTS) : asked)
  for (const [name, text] of await PARTS[part]()) {
    const path = join(chart, name)
    if (read(path) === text) continue
    if (isCheck) {
      console.error(`charts/edge-health/${name}: make it anew with node testkit/helm/chart.mjs`)
      process.exitCode = 1
    } else {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
  }

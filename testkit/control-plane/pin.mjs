// SPDX-License-Identifier: Apache-2.0
// Writes the go.mod and go.sum from which the lab builds one version of Kubernetes, into the folder of its minor:
//   node testkit/control-plane/pin.mjs 1.36.3
// Kubernetes names its own libraries by folders of its source tree; here each is the published module of the same
// release. The versions of everything else are those that Kubernetes itself was released with.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const TOOLS = [
  ...['kube-apiserver', 'kube-controller-manager', 'kube-proxy', 'kubectl'].map(
    name => `k8s.io/kubernetes/cmd/${name}`,
  ),
  'go.etcd.io/etcd/server/v3',
]

const [, , version = ''] = process.argv
if (!/^1\.\d+\.\d+$/.test(version)) {
  console.error(`the version must be one such as 1.36.3, got ${version === '' ? 'none' : version}`)
  process.exit(2)
}

// Not inside a module yet, and the Go that is here, not one that it would fetch.
const env = { ...process.env, GOFLAGS: '', GOTOOLCHAIN: 'local', GOWORK: 'off' }
const go = (args, cwd) =>
  execFileSync('go', args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

const downloaded = JSON.parse(go(['mod', 'download', '-json', `k8s.io/kubernetes@v${version}`]))
const theirs = readFileSync(downloaded.GoMod, 'utf8')
const matching = (pattern, what) => {
  const found = [...theirs.matchAll(pattern)]
  if (found.length === 0) throw new Error(`the go.mod of Kubernetes ${version} has no ${what}`)
  return found
}

const [[line, minor]] = matching(/^go (1\.\d+)[\d.]*$/gm, 'go line')
/** `tool` lines need it. GODEBUG's defaults are set apart; older versions leave them to their go line. */
const language = `go ${Number(minor.slice(2)) < 24 ? '1.24.0' : line.slice(3)}`
const settings = /^godebug (?:\([^)]*\)|.*)$/m.exec(theirs)?.[0] ?? `godebug default=go${minor}`
const staged = matching(/^\s*(k8s\.io\/[\w-]+) => \.\/staging\//gm, 'staged module')
const text = [
  'module edge-health-lab',
  language,
  settings,
  ...TOOLS.map(tool => `tool ${tool}`),
  `require k8s.io/kubernetes v${version}`,
  ...staged.map(([, name]) => `replace ${name} => ${name} v${version.replace(/^1/, '0')}`),
].join('\n')

const folder = join(import.meta.dirname, version.split('.').slice(0, 2).join('.'))
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'go.mod'), `${text}\n`)
go(['mod', 'tidy'], folder)
console.log(`${folder} pins Kubernetes ${version}`)

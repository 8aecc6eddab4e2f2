// SPDX-License-Identifier: Apache-2.0
// Writes wrapper/wire/schema-table.ts from the sources of a pinned Kubernetes: numbers and types from `generated.proto`, names and what
// JSON leaves out from the tags in the Go types beside it. Run by hand, where there is Go:
//   node test/wrapper/wire/make-schema.mjs && npx prettier --write wrapper/wire/schema-table.ts
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const VERSION = 'v0.36.3'
const META = 'k8s.io.apimachinery.pkg.apis.meta.v1'
const ROOTS = [
  'k8s.io.api.core.v1.Node',
  'k8s.io.api.core.v1.Service',
  'k8s.io.api.core.v1.Endpoints',
  'k8s.io.api.discovery.v1.EndpointSlice',
  'k8s.io.api.discovery.v1beta1.EndpointSlice',
  'k8s.io.api.networking.v1.ServiceCIDR',
  `${META}.ListMeta`,
  `${META}.Status`,
]
/** What Go writes by hand; `wrapper/wire/schema.ts` names the same forms. Another one ends this script: it has no tags. */
const SPECIAL = new Map([
  [`${META}.Time`, 'Time'],
  [`${META}.FieldsV1`, 'FieldsV1'],
  ['k8s.io.apimachinery.pkg.api.resource.Quantity', 'Quantity'],
  ['k8s.io.apimachinery.pkg.util.intstr.IntOrString', 'IntOrString'],
])
const SCALARS = new Set(['string', 'bool', 'int32', 'int64'])

const downloaded = name => {
  const args = ['mod', 'download', '-json', `${name}@${VERSION}`]
  return JSON.parse(execFileSync('go', args, { cwd: tmpdir(), encoding: 'utf8' })).Dir
}
const folders = { api: downloaded('k8s.io/api'), apimachinery: downloaded('k8s.io/apimachinery') }

/** The folder of a protobuf package: `k8s.io.api.core.v1` → `…/api@…/core/v1`. */
const folderOf = pack => {
  const [, , module, ...rest] = pack.split('.')
  return join(folders[module], ...rest)
}
const splitName = full => {
  const at = full.lastIndexOf('.')
  return { pack: full.slice(0, at), name: full.slice(at + 1) }
}
/** The text between the braces of `opening NAME … {` and the first line that is only a closing brace. */
const block = (text, opening) => {
  const start = text.search(opening)
  if (start === -1) throw new Error(`${opening} not found`)
  return text.slice(text.indexOf('{', start) + 1, text.indexOf('\n}', start))
}

const protoFields = full => {
  const { pack, name } = splitName(full)
  const text = readFileSync(join(folderOf(pack), 'generated.proto'), 'utf8')
  const body = block(text, new RegExp(`^message ${name} `, 'm'))
  const rows = body.matchAll(
    /^ {2}(?:(optional|repeated) (\S+)|map<string, (\S+)>) (\w+) = (\d+);/gm,
  )
  return [...rows].map(([, label, single, mapped, field, number]) => ({
    number: Number(number),
    field,
    form: mapped !== undefined ? 'map' : label === 'repeated' ? 'list' : 'one',
    type: typeName(pack, mapped ?? single),
  }))
}
const typeName = (pack, written) => {
  if (SCALARS.has(written)) return written
  return written.startsWith('.') ? written.slice(1) : `${pack}.${written}`
}

/** Protobuf name → how Go's JSON treats the field. */
const goTags = full => {
  const { pack, name } = splitName(full)
  const folder = folderOf(pack)
  const files = readdirSync(folder).filter(file => /^(?!zz_|.*_test\.go$).*\.go$/.test(file))
  const text = files.map(file => readFileSync(join(folder, file), 'utf8')).join('\n')
  const body = block(text, new RegExp(`^type ${name} struct `, 'm'))
  const tags = new Map()
  for (const [, type, tag] of body.matchAll(/^\t(?:\w+ )?\s*(\S+)\s+`([^`]*)`/gm)) {
    const protobuf = /protobuf:"[^"]*name=(\w+)/.exec(tag)?.[1]
    const [json, ...options] = /json:"([^"]*)"/.exec(tag)?.[1].split(',') ?? []
    if (protobuf === undefined) continue
    if (json === '' || json === '-') throw new Error(`${full}.${protobuf}: no name in JSON`)
    tags.set(protobuf, { json, isPointer: type.startsWith('*'), options })
  }
  return tags
}

/** What Go does with a field that holds the zero value; `wrapper/wire/schema.ts` explains the words. */
const absence = (full, { json, isPointer, options }) => {
  const omits = options.includes('omitempty')
  if (options.includes('omitzero')) return 'omitzero'
  if (isPointer && !omits) throw new Error(`${full}.${json}: a pointer that is always written`)
  if (isPointer) return 'pointer'
  return omits ? 'omitempty' : 'always'
}

const messages = new Map()
const shortOf = full => {
  const { pack, name } = splitName(full)
  if (full.startsWith(META)) return name
  const [group, version] = pack.split('.').slice(-2)
  return `${group}.${version}.${name}`
}
const collect = full => {
  if (messages.has(full)) return
  const rows = []
  messages.set(full, rows)
  const tags = goTags(full)
  for (const { number, field, form, type } of protoFields(full)) {
    const tag = tags.get(field)
    if (tag === undefined) throw new Error(`${full}.${field}: no such field in Go`)
    const isMessage = !SCALARS.has(type) && !SPECIAL.has(type)
    if (isMessage) collect(type)
    const shown = SPECIAL.get(type) ?? (isMessage ? shortOf(type) : type)
    const prefix = { one: '', list: '[]', map: 'map:' }[form]
    rows.push([number, tag.json, prefix + shown, absence(full, tag)])
  }
  rows.sort(([a], [b]) => a - b)
}
ROOTS.forEach(collect)

const lines = [...messages]
  .map(([full, rows]) => [shortOf(full), rows])
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .flatMap(([name, rows]) => [name, ...rows.map(row => `  ${row.join(' ')}`)])
writeFileSync(
  join(import.meta.dirname, '../../../wrapper/wire/schema-table.ts'),
  `// SPDX-License-Identifier: Apache-2.0
// Written by test/wrapper/wire/make-schema.mjs from k8s.io/api and k8s.io/apimachinery ${VERSION}; not to be edited by hand.

/** Messages, and beneath each its fields: number, name in JSON, type, and what Go does with the zero value. */
export const SCHEMA_TABLE = \`
${lines.join('\n')}
\`
`,
)

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { parse } from 'yaml'
import { putVersionBack, showVersion } from '../../../wrapper/proxy/versions.js'
import { parseTarget } from '../../../wrapper/serve/target.js'
import { AS_IS, type Stored } from '../../../wrapper/store/stored.js'
import { envelope, openEnvelope } from '../../../wrapper/wire/envelope.js'
import { Fields } from '../../../wrapper/wire/fields.js'
import { readMeta, withVersion } from '../../../wrapper/wire/meta.js'
import { Sink } from '../../../wrapper/wire/sink.js'
import { sendRaw } from '../../../testkit/http/raw-http.js'
import { answer } from '../../../testkit/http/scripted-server.js'
import { call, upstreamAt, scripted, startProxy } from '../proxy-bed.js'

const OURS = '1795270850123456'
const OLDER = '1795270850123455'
const UPSTREAM = '812'
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
const PATH = `${SLICES}/web-1`
const JSON_TYPE = 'application/json'
const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const target = parseTarget(PATH)!

const record: Stored = {
  key: 'default/web-1',
  raw: new Uint8Array(0),
  upstream: UPSTREAM,
  version: Number(OURS),
  rendering: AS_IS,
}
/** One endpoint of it is not shown here. */
const altered: Stored = { ...record, rendering: { mark: '-1', bytes: 2, apply: raw => raw } }

const back = (text: string, type = JSON_TYPE, method = 'PUT', of = record): string =>
  putVersionBack(Buffer.from(text), { method, type, target }, of).toString()

t.test('FW2: only the version in a write is replaced', t => {
  const rows: [what: string, given: string, expected: string][] = [
    [
      'an object, its other texts and its spaces',
      `{"metadata": { "labels":{"resourceVersion":"${OURS}","metadata":"${OURS}"},\t"resourceVersion" : "${OURS}", "name":"ä\\"}"},"x":["${OURS}",{"metadata":{"resourceVersion":"${OURS}"}}]}\n`,
      `{"metadata": { "labels":{"resourceVersion":"${OURS}","metadata":"${OURS}"},\t"resourceVersion" : "${UPSTREAM}", "name":"ä\\"}"},"x":["${OURS}",{"metadata":{"resourceVersion":"${OURS}"}}]}\n`,
    ],
    [
      'what was applied last',
      `{"metadata":{"annotations":{"last":"{\\"metadata\\":{\\"resourceVersion\\":\\"${OURS}\\"}}"},"resourceVersion":"${OURS}"}}`,
      `{"metadata":{"annotations":{"last":"{\\"metadata\\":{\\"resourceVersion\\":\\"${OURS}\\"}}"},"resourceVersion":"${UPSTREAM}"}}`,
    ],
    [
      'twice, of which the last counts',
      `{"metadata":{"resourceVersion":"${OURS}","resourceVersion":"${OURS}"}}`,
      `{"metadata":{"resourceVersion":"${UPSTREAM}","resourceVersion":"${UPSTREAM}"}}`,
    ],
    [
      'a key in disguise',
      `{"met\\u0061data":{"resourceVersion":"${OURS}"}}`,
      `{"met\\u0061data":{"resourceVersion":"${UPSTREAM}"}}`,
    ],
    [
      'a JSON patch',
      `[{"op":"add","path":"/metadata/labels/x","value":"${OURS}"},{"op":"test","path":"/metadata/resourceVersion","value":"${OURS}"},null,{"value":"${OURS}","path":"/metadata/resourceVersion","op":"replace"}]`,
      `[{"op":"add","path":"/metadata/labels/x","value":"${OURS}"},{"op":"test","path":"/metadata/resourceVersion","value":"${UPSTREAM}"},null,{"value":"${UPSTREAM}","path":"/metadata/resourceVersion","op":"replace"}]`,
    ],
  ]
  for (const [what, given, expected] of rows) t.equal(back(given), expected, what)
  const same = [
    `{"metadata":{"resourceVersion":"${OLDER}"}}`,
    '{"metadata":{"resourceVersion":"811"}}',
    `{"metadata":{"resourceVersion":${OURS}}}`,
    `{"metadata":{"name":"${OURS}"}}`,
    `{"preconditions":{"resourceVersion":"${OURS}"}}`,
    `"${OURS}"`,
    `{"metadata":{"resourceVersion":"${OURS}"`,
    '{}',
    '',
  ]
  for (const text of same) {
    const body = Buffer.from(text)
    const write = { method: 'PUT', type: JSON_TYPE, target }
    t.equal(putVersionBack(body, write, record), body, `the very same bytes: ${text}`)
    t.equal(putVersionBack(body, write, altered), body, `and of an altered object: ${text}`)
  }
  // Field 100: of an apiserver that is newer than we are.
  const newer = { ...record, raw: new Sink(16).text(100, 'new').take() }
  const named = `{"metadata":{"resourceVersion":"${OURS}"}}`
  t.throws(() => back(named, JSON_TYPE, 'PUT', newer), { message: /409 .*leaves them out of JSON/ })
  const precondition = named.replace('metadata', 'preconditions')
  t.match(back(precondition, JSON_TYPE, 'DELETE', newer), UPSTREAM, 'nothing of it is written')
  const unknown = Buffer.from(`{"metadata":{"resourceVersion":"${OURS}"}}`)
  t.equal(putVersionBack(unknown, { method: 'PUT', type: JSON_TYPE, target }, undefined), unknown)
  t.end()
})

t.test('a write may name our version 16 times, and is read once', t => {
  let reads = 0
  const counted: Stored = {
    ...record,
    get raw() {
      reads++
      return record.raw
    },
  }
  const operation = (value: string): string =>
    `{"op":"test","path":"/metadata/resourceVersion","value":"${value}"}`
  const patch = (times: number, value = OURS): string =>
    `[${[...Array<string>(times).fill(operation(value)), operation(OURS)].join()}]`
  t.equal(back(patch(15), JSON_TYPE, 'PATCH', counted), patch(15).replaceAll(OURS, UPSTREAM))
  t.equal(reads, 1, 'all fields of the object are looked at once')
  for (const times of [16, 38_000])
    t.throws(() => back(patch(times), JSON_TYPE, 'PATCH'), {
      message: /413 .*may name a version 16 times/,
    })
  const others = patch(38_000, OLDER)
  t.equal(back(others, JSON_TYPE, 'PATCH'), others.replace(OURS, UPSTREAM), 'others do not count')

  const versions = new Sink(64)
  for (let n = 0; n < 17; n++) versions.text(6, OURS)
  const object = new Sink(64).bytes(1, versions.take()).take()
  const body = Buffer.from(envelope('v1', 'Node', object))
  const write = { method: 'PUT', type: PROTOBUF, target }
  t.equal(putVersionBack(body, write, record), body, 'in protobuf it is left to the apiserver')
  t.end()
})

const YAML = 'application/apply-patch+yaml'

t.test('FW2: in YAML in block style as well', t => {
  const forms = [
    `# ${OURS}\nmetadata:\n  labels:\n    resourceVersion: "${OURS}"\n  name: ä\n  resourceVersion: "${OURS}" # here\nx: 1\n`,
    `metadata:\n  resourceVersion: '${OURS}'\n`,
    `---\n"metadata":\r\n\n  # more\n  name: x\r\n  'resourceVersion':  "${OURS}"\r\n`,
    `x:\n  resourceVersion: "${OURS}"\nmetadata: # of it\n    annotations:\n      x: |\n        resourceVersion: "${OURS}"\n    resourceVersion: "${OURS}"`,
  ] // prettier-ignore
  for (const form of forms)
    for (const filling of ['', '# more\n'.repeat(400)]) {
      const given = filling + form
      const text = back(given, YAML)
      const [before, put] = [parse(given), parse(text)] as { metadata: object }[]
      t.strictSame(put, { ...before, metadata: { ...before!.metadata, resourceVersion: UPSTREAM } }, form)
      t.equal(text.length, given.length - OURS.length + UPSTREAM.length, 'and all else as it was')
      t.equal(back(given, JSON_TYPE), given, 'what is called JSON is not read as YAML')
    }
  const precondition = `preconditions:\n  resourceVersion: "${OURS}"\n`
  t.equal(back(precondition, YAML, 'DELETE'), precondition.replace(OURS, UPSTREAM))
  for (const other of [`metadata:\n  resourceVersion: "${OLDER}"\n`, `{metadata: {resourceVersion: "${OLDER}"}}`])
    t.equal(back(other, YAML), other, 'versions that are not ours are left alone')
  t.end()
}) // prettier-ignore

t.test('FW2: JSON that is sent as YAML is read as JSON', t => {
  for (const spec of ['', 'x'.repeat(9_000)])
    for (const space of ['', '  ']) {
      const json = JSON.stringify({ metadata: { name: 'x', resourceVersion: OURS }, spec }, undefined, space)
      t.equal(back(json, YAML), json.replace(OURS, UPSTREAM))
      const labels = { resourceVersion: OURS }
      const named = JSON.stringify({ metadata: { labels }, spec }, undefined, space)
      t.equal(back(named, YAML), named, 'what names it elsewhere passes')
    }
  t.end()
}) // prettier-ignore

t.test('YAML that names our version in any other style is refused, and told why', t => {
  const version = `metadata:\n  resourceVersion: "${OURS}"\n`
  const rows: [what: string, text: string][] = [
    ['flow style', `{metadata: {resourceVersion: "${OURS}"}}`],
    ['flow style that begins as JSON', `{"metadata": {resourceVersion: '${OURS}'}}`],
    ['flow style inside', `metadata: {name: x, resourceVersion: "${OURS}"}\n`],
    ['flow style that is broken', `{metadata: {resourceVersion: "${OURS}"}, x: ${': '.repeat(900)}`],
    ['an anchor', version.replace('metadata:', 'metadata: &a')],
    ['a number', version.replaceAll('"', '')],
    ['elsewhere', `metadata:\n  labels:\n    resourceVersion: "${OURS}"\n`],
    ['a key with an escape', `metadata:\n  "resource\\u0056ersion": "${OURS}"\n`],
    ['a short escape', `metadata:\n  "\\x72esourceVersion": "${OURS}"\n`],
    ['a long escape', `metadata: {"resource\\U00000056ersion": "${OURS}"}\n`],
    ...['\n', '\r\n', '\u0085', '\u2028'].map((end): [string, string] => [
      'a key of two lines',
      `metadata:\n  ? "resource\\${end}    Version"\n  : "${OURS}"\n`,
    ]),
    ['more than 64 KiB', version + '# more\n'.repeat(10_000)],
  ]
  const message = /400 .*YAML that names a version must be in block style, and at most 65536 bytes; send JSON/
  for (const [what, text] of rows) t.throws(() => back(text, YAML), { message }, what)
  const broken = `${version}x: ${'[{'.repeat(900)}`
  t.equal(back(broken, YAML), broken.replace(OURS, UPSTREAM), 'the apiserver judges the rest')
  t.end()
}) // prettier-ignore

t.test('YAML that merely has the digits of our version passes', t => {
  const rows: [what: string, text: string][] = [
    ['a comment', `# ${OURS}\nx: 1\n`],
    ['an annotation', `metadata:\n  name: a\n  annotations:\n    note: copied from version ${OURS}\nspec: {}\n`],
    ['a part of a longer number', `metadata: {name: a}\nspec:\n  x: 1${OURS}\n`],
    ['escapes that are no letters', `metadata:\n  annotations:\n    note: "${OURS}\\n\\t\\"a\\""\n`],
    ['more than 64 KiB', `# ${OURS}\n${'# more\n'.repeat(10_000)}`],
  ]
  for (const [what, text] of rows) t.equal(back(text, YAML), text, what)
  t.end()
}) // prettier-ignore

/** DeleteOptions with a grace period, whose field has the number of an object's metadata. */
const deleteOptions = (version: string): Buffer => {
  const preconditions = new Sink(64).text(1, 'some-uid').text(2, version).take()
  const raw = new Sink(64).number(1, 30).bytes(2, preconditions).text(4, 'Background').take()
  return Buffer.from(envelope('v1', 'DeleteOptions', raw))
}

t.test('FW18: in protobuf as well, in objects and in the preconditions of a DELETE', t => {
  const named = Buffer.from([0x0a, 0x04, 0x0a, 0x02, 0x6e, 0x31, 0x12, 0x00])
  const object = (version: string): Buffer =>
    Buffer.from(envelope('v1', 'Node', withVersion(named, version)))
  const put = (body: Buffer, method = 'PUT', of = record): Buffer =>
    putVersionBack(body, { method, type: PROTOBUF, target }, of)
  t.strictSame(put(object(OURS)), object(UPSTREAM))
  t.equal(readMeta(openEnvelope(put(object(OURS))).raw).version, UPSTREAM)
  t.strictSame(put(object(OLDER)), object(OLDER))
  const newer = { ...record, raw: new Sink(16).text(100, 'new').take() }
  t.strictSame(put(object(OURS), 'PUT', newer), object(UPSTREAM), 'protobuf tells all fields')
  t.strictSame(put(deleteOptions(OURS), 'DELETE'), deleteOptions(UPSTREAM))
  t.strictSame(put(deleteOptions(OLDER), 'DELETE'), deleteOptions(OLDER))
  t.throws(() => put(deleteOptions(OURS), 'DELETE', altered), { message: /409 Conflict/ })
  t.throws(() => put(object(OURS), 'PUT', altered), { message: /409 Conflict/ })
  const odd = Buffer.concat([object(OURS), new Sink(16).text(9, 'a field of later').take()])
  const fields = new Fields(put(odd), 4)
  while (fields.next());
  t.equal(fields.number, 9, 'and what it does not know stays')
  const broken = Buffer.from(`k8s\0rubbish ${OURS}`)
  t.equal(put(broken), broken, 'upstream says what is wrong with it')

  const json = `{"kind":"DeleteOptions","preconditions":{"uid":"${OURS}","resourceVersion":"${OURS}"},"metadata":{"resourceVersion":"${OURS}"}}`
  t.equal(
    back(json, JSON_TYPE, 'DELETE'),
    json.replace(`"resourceVersion":"${OURS}"},"m`, `"resourceVersion":"${UPSTREAM}"},"m`),
  )
  t.end()
})

t.test('a dry run that changes nothing returns the version that reads have', t => {
  const shown = (text: string, of: Stored | undefined = record): string =>
    showVersion(Buffer.from(text), JSON_TYPE, of).toString()
  const body = `{"metadata":{"labels":{"resourceVersion":"${UPSTREAM}"},"resourceVersion":"${UPSTREAM}"}}`
  t.equal(shown(body), body.replace(`"${UPSTREAM}"}}`, `"${OURS}"}}`))
  t.equal(shown('{"metadata":{"resourceVersion":"813"}}'), '{"metadata":{"resourceVersion":"813"}}')
  const yaml = `metadata:\n  name: x\n  resourceVersion: "${UPSTREAM}"\n`
  const answered = (text: string): string =>
    showVersion(Buffer.from(text), 'application/yaml', record).toString()
  t.equal(answered(yaml), yaml.replace(UPSTREAM, OURS))
  for (const other of ['813', '{}', `{x: ${UPSTREAM}}`]) {
    const changed = `${yaml.replace(UPSTREAM, other)}port: 8${UPSTREAM}\n`
    for (const text of [changed, changed + '# more\n'.repeat(400)])
      t.equal(answered(text), text, 'no answer is refused')
  }
  t.equal(shown(body, altered), body, 'what reads show of it is not what was told here')
  const untouched = Buffer.from(body)
  t.equal(showVersion(untouched, JSON_TYPE, undefined), untouched)
  t.end()
})

t.test('FW2: an altered object is not written back, everything else is passed on', async t => {
  const api = await scripted(t)
  let of: Stored | undefined = record
  const bed = await startProxy(t, { upstream: upstreamAt(api.url), recordOf: () => of })
  const text = `{"metadata":{"name":"ä","resourceVersion":"${OURS}"}}`
  const passed = async (method: string, path: string, body: string): Promise<string> => {
    api.script(answer({ metadata: { resourceVersion: UPSTREAM } }))
    const got = await call(bed, path, { method, headers: { 'Content-Type': JSON_TYPE } }, body)
    t.equal(got.status, 200, `${method} ${path}`)
    t.equal(got.text, `{"metadata":{"resourceVersion":"${UPSTREAM}"}}`, 'answers stay as they are')
    const asked = api.asked.at(-1)!
    t.equal(asked.headers['content-length'], String(Buffer.byteLength(asked.body)))
    return asked.body
  }
  t.equal(await passed('PUT', PATH, text), text.replace(OURS, UPSTREAM))
  t.equal(await passed('PATCH', `${PATH}/status`, text), text.replace(OURS, UPSTREAM))
  t.equal(await passed('POST', SLICES, text), text)
  t.equal(await passed('DELETE', SLICES, text), text)
  t.equal(await passed('PUT', `${PATH}/scale`, text), text)
  t.equal(await passed('PUT', '/api/v1/namespaces/default/pods/web-1', text), text)

  of = altered
  const before = api.asked.length
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const body = method === 'DELETE' ? text.replace('metadata', 'preconditions') : text
    const refused = await call(bed, PATH, { method }, body)
    t.equal(refused.status, 409, method)
    t.match(JSON.parse(refused.text), {
      ...{ kind: 'Status', status: 'Failure', code: 409, reason: 'Conflict' },
      details: { name: 'web-1', group: 'discovery.k8s.io', kind: 'endpointslices' },
      message:
        /^Operation cannot be fulfilled on endpointslices\.discovery\.k8s\.io "web-1": .*take them from the whole cluster\. Read and write it at the apiserver itself$/,
    })
  }
  t.equal(api.asked.length, before, 'upstream hears nothing of them')
  const unversioned = '{"metadata":{"name":"web-1"}}'
  t.equal(await passed('PUT', PATH, unversioned), unversioned, 'without a version: as it is')
  t.equal(await passed('PATCH', PATH, text.replace(OURS, OLDER)), text.replace(OURS, OLDER))

  of = record
  const body = `{"metadata":{"resourceVersion":"${UPSTREAM}"}}`
  const dryRun = async (status: number, headers = {}): Promise<string> => {
    api.script(answer(body, { status, headers }))
    const got = await call(bed, `${PATH}?dryRun=All`, { method: 'PATCH' }, '{}')
    t.equal(got.status, status)
    return got.text
  }
  t.equal(await dryRun(200), body.replace(UPSTREAM, OURS))
  t.equal(await dryRun(409), body, 'a refusal is left alone')
  t.equal(await dryRun(200, { 'content-encoding': 'identity' }), body, 'and what is packed')
  const large = await call(bed, PATH, { method: 'PUT' }, Buffer.alloc((3 << 20) + 1))
  t.equal(large.status, 413)
  t.match(JSON.parse(large.text), { kind: 'Status', reason: 'RequestEntityTooLarge' })
})

t.test('a passed-on read or watch with a version of ours has to list again', async t => {
  const api = await scripted(t)
  const bed = await startProxy(t, { upstream: upstreamAt(api.url) })
  for (const version of [OURS, OLDER, String(2 ** 50)]) {
    const got = await call(bed, `${SLICES}?watch=1&resourceVersion=${version}`)
    t.equal(got.status, 410, version)
    t.match(JSON.parse(got.text), { kind: 'Status', code: 410, reason: 'Expired' })
  }
  const old = await call(bed, `/api/v1/watch/services?resourceVersion=${OURS}`)
  t.equal(old.status, 410, 'a watch at its older path')
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nHost: a\r\n\r\n'
  const line = `GET /api/v1/services?watch=1&resourceVersion=${OURS} HTTP/1.1\r\n`
  t.match(await sendRaw(bed.port, line + upgrade), /^HTTP\/1\.1 410 /, 'a watch over a WebSocket')
  t.equal(api.asked.length, 0)
  api.script(answer({}), answer({}))
  t.equal((await call(bed, `${SLICES}?resourceVersion=${UPSTREAM}`)).status, 200)
  t.equal((await call(bed, `/apis/x.io/v1/things?resourceVersion=${OURS}`)).status, 200, 'not ours')
})

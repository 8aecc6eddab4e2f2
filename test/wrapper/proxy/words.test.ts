// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { readRequest } from '../../../wrapper/proxy/asked.js'
import { endToEnd, requestHeaders, upgradeHeaders } from '../../../wrapper/proxy/headers.js'
import { putVersionsBack, showOurVersions } from '../../../wrapper/proxy/versions.js'
import { envelope, openEnvelope } from '../../../wrapper/wire/envelope.js'
import { readMeta, withVersion } from '../../../wrapper/wire/meta.js'

t.test('headers of a connection stay on it, all others travel as they are', t => {
  const raw = [
    ...['Host', '127.0.0.1:51006', 'Authorization', 'Bearer x', 'aCCept', 'a', 'Accept', 'b'],
    ...['Connection', 'keep-alive, X-Hop', 'X-Hop', '1', 'Keep-Alive', 'timeout=5', 'TE', 'trailers'],
    ...['Trailer', 'X', 'Proxy-Authorization', 'y', 'Transfer-Encoding', 'chunked', 'Expect', '100-continue'],
    ...['Upgrade', 'SPDY/3.1', 'Impersonate-User', 'me'],
  ] // prettier-ignore
  const kept = ['Authorization', 'Bearer x', 'aCCept', 'a', 'Accept', 'b']
  const rest = ['Impersonate-User', 'me']
  t.strictSame(endToEnd(raw), ['Host', '127.0.0.1:51006', ...kept, 'Expect', '100-continue', ...rest]) // prettier-ignore
  const request = ['Host', 'api:6443', ...kept, ...rest, 'Transfer-Encoding', 'chunked']
  t.strictSame(requestHeaders(raw, 'api:6443'), request)
  t.strictSame(upgradeHeaders(raw, 'api:6443'), [
    ...request,
    ...['Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1'],
  ])
  t.strictSame(requestHeaders(['host', 'a'], 'b'), ['Host', 'b'])
  t.end()
})

t.test('what a request asks for', t => {
  const core = '/api/v1/namespaces/default/events'
  const rows: [method: string, url: string, words: string][] = [
    ['GET', '/api/v1/pods?watch=1', 'long'],
    ['GET', '/api/v1/pods?watch=false', ''],
    ['GET', '/api/v1/namespaces/n/pods/p/log?follow=true', 'long'],
    ['POST', '/api/v1/namespaces/n/pods/p/exec?command=sh', 'long write'],
    ['POST', '/api/v1/namespaces/n/services/s/proxy/a/b', 'long write'],
    ['POST', core, 'event write'],
    ['POST', '/apis/events.k8s.io/v1/namespaces/default/events', 'event write'],
    ['POST', '/apis/events.k8s.io/v1beta1/namespaces/default/events?fieldManager=x', 'event write'],
    ['POST', `${core}?dryRun=All`, 'write'],
    ['PATCH', `${core}/e1`, 'write'],
    ['POST', `${core}/e1/status`, 'write'],
    ['POST', '/apis/example.com/v1/namespaces/default/events', 'write'],
    ['DELETE', '/api/v1/nodes/n1', 'write'],
    ['HEAD', '/livez', ''],
  ]
  for (const [method, url, expected] of rows) {
    const { isLong, isEvent, isWrite } = readRequest(method, url)
    const words = [isLong && 'long', isEvent && 'event', isWrite && 'write'].filter(Boolean)
    t.equal(words.join(' '), expected, `${method} ${url}`)
  }
  t.end()
})

t.test("a write gets upstream's version back where it names ours", t => {
  const ours = '1795270850123456'
  const versions = {
    upstreamOf: (served: string) => (served === ours ? '812' : undefined),
    servedOf: (upstream: string) => (upstream === '812' ? ours : undefined),
  }
  const inJson = (text: string): string =>
    putVersionsBack(Buffer.from(text), 'application/json', versions).toString()
  const rows: [given: string, expected: string][] = [
    [`{"metadata":{"resourceVersion":"${ours}","name":"ä"}}`, '{"metadata":{"resourceVersion":"812","name":"ä"}}'],
    [`[{"op":"test","path":"/metadata/resourceVersion","value": "${ours}"}]`, '[{"op":"test","path":"/metadata/resourceVersion","value": "812"}]'],
    [`metadata:\n  resourceVersion: "${ours}"\n`, 'metadata:\n  resourceVersion: "812"\n'],
    ['{"metadata":{"resourceVersion":"811"}}', '{"metadata":{"resourceVersion":"811"}}'],
    [`{"x":${ours}}`, `{"x":${ours}}`],
  ] // prettier-ignore
  for (const [given, expected] of rows) t.equal(inJson(given), expected)
  const untouched = Buffer.from('{"a":"1"}')
  t.equal(putVersionsBack(untouched, undefined, versions), untouched, 'the very same bytes')
  const shown: [given: string, expected: string][] = [
    ['{"metadata":{"resourceVersion":"812","name":"ä"}}', `{"metadata":{"resourceVersion":"${ours}","name":"ä"}}`],
    ['{"metadata": {"resourceVersion": "812"}}', `{"metadata": {"resourceVersion": "${ours}"}}`],
    ['{"metadata":{"resourceVersion":"811","labels":{"n":"812"}}}', '{"metadata":{"resourceVersion":"811","labels":{"n":"812"}}}'],
  ] // prettier-ignore
  for (const [given, expected] of shown)
    t.equal(showOurVersions(Buffer.from(given), 'application/json', versions).toString(), expected)

  const type = 'application/vnd.kubernetes.protobuf'
  const named = Buffer.from([0x0a, 0x04, 0x0a, 0x02, 0x6e, 0x31])
  const body = (version: string): Buffer =>
    Buffer.from(envelope('v1', 'Node', withVersion(named, version)))
  const changed = openEnvelope(putVersionsBack(body(ours), type, versions))
  t.match(changed, { apiVersion: 'v1', kind: 'Node' })
  t.match(readMeta(changed.raw), { name: 'n1', version: '812' })
  const other = body('811')
  t.equal(putVersionsBack(other, type, versions), other)
  t.strictSame(showOurVersions(body('812'), type, versions), body(ours))
  const broken = Buffer.from('k8s\0rubbish')
  t.equal(putVersionsBack(broken, type, versions), broken, 'upstream says what is wrong with it')
  t.end()
})

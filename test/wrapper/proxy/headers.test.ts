// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { readRequest } from '../../../wrapper/proxy/passed-request.js'
import { endToEnd, requestHeaders, upgradeHeaders } from '../../../wrapper/proxy/headers.js'
import { keyOf, type Target } from '../../../wrapper/serve/target.js'

t.test('hop-by-hop headers are dropped, all others are passed on unchanged', t => {
  const raw = [
    ...['Host', '127.0.0.1:51006', 'Authorization', 'Bearer x', 'aCCept', 'a', 'Accept', 'b'],
    ...['Connection', 'keep-alive, X-Hop', 'X-Hop', '1', 'Keep-Alive', 'timeout=5', 'TE', 'trailers'],
    ...['Trailer', 'X', 'Proxy-Authorization', 'y', 'Transfer-Encoding', 'Chunked', 'Expect', '100-continue'],
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
    ['GET', '/api/v1/watch/pods', 'long'],
    ['GET', '/api/v1/pods?watch=false', ''],
    ['GET', '/api/v1/namespaces/n/pods/p/log?follow=true', 'long'],
    ['POST', '/api/v1/namespaces/n/pods/p/exec?command=sh', 'long'],
    ['POST', '/api/v1/namespaces/n/services/s/proxy/a/b', 'long'],
    ['GET', '/api/v1/namespaces/proxy/pods/log', ''],
    ['GET', '/api/v1/namespaces/n/configmaps/watch', ''],
    ['POST', core, 'event'],
    ['POST', '/api/v1/namespaces/proxy/events', 'event'],
    ['POST', '/api/v1/namespaces/log/events/', 'event'],
    ['POST', '/apis/events.k8s.io/v1/namespaces/default/events', 'event'],
    ['POST', '/apis/events.k8s.io/v1beta1/namespaces/default/events?fieldManager=x', 'event'],
    ['POST', `${core}?dryRun=All`, ''],
    ['PATCH', `${core}/e1`, ''],
    ['POST', `${core}/e1/status`, ''],
    ['POST', '/apis/example.com/v1/namespaces/default/events', ''],
    ['POST', '/api/v1/namespaces/default/pods/events', ''],
    ['DELETE', '/api/v1/nodes/n1', 'writes nodes n1'],
    ['PUT', '/api/v1/nodes/n1/status', 'writes nodes n1'],
    ['PUT', '/api/v1/nodes/status', 'writes nodes status'],
    ['PUT', '/api/v1/namespaces/status/services/status', 'writes services status/status'],
    ['PATCH', '/api/v1/namespaces/n/services/proxy', 'writes services n/proxy'],
    ['PUT', '/api/v1/namespaces/n/services/s/proxy/x', 'long'],
    ['PUT', '/api/v1/namespaces/n/status', ''],
    ['DELETE', '/api/v1/nodes', ''],
    ['POST', '/api/v1/nodes', ''],
    ['GET', '/api/v1/namespaces/n/services/s', 'reads services n/s'],
    ['GET', '/api/v1/nodes%2Fn1', ''],
    ['HEAD', '/livez', ''],
    ['OPTIONS', '*', ''],
  ]
  for (const [method, url, expected] of rows) {
    const rawHeaders = ['GET', 'HEAD'].includes(method) ? [] : ['Content-Length', '2']
    const asked = readRequest({ method, url, rawHeaders })
    const named = (verb: string, target: Target | undefined): string | false =>
      target !== undefined && `${verb} ${target.row.resource} ${keyOf(target)}`
    const words = [
      ...[asked.isLong && 'long', asked.isEvent && 'event'],
      ...[named('reads', asked.read), named('writes', asked.written)],
    ].filter(Boolean)
    t.equal(words.join(' '), expected, `${method} ${url}`)
  }
  t.end()
})

t.test('FW20: a body whose end cannot be known is refused', t => {
  const rows: [what: string, rawHeaders: string[], message: RegExp | undefined][] = [
    ['chunks', ['Transfer-Encoding', ' Chunked'], undefined],
    ['a hop', ['Connection', 'close, X-Hop, te', 'X-Hop', '1'], undefined],
    ['its length', ['Connection', 'close, Content-LENGTH'], /must not name content-length$/],
    ['its coding', ['Connection', 'transfer-encoding'], /must not name transfer-encoding$/],
    ['its host', ['Connection', 'Host'], /must not name host$/],
    ['who asks', ['Connection', 'a', 'connection', 'Authorization'], /not name authorization$/],
    ['as whom', ['Connection', 'Impersonate-User'], /must not name impersonate-user$/],
    ['a second coding', ['Transfer-Encoding', 'gzip, chunked'], /must be chunked and nothing else/],
    ['two codings', ['Transfer-Encoding', 'chunked', 'transfer-encoding', 'chunked'], /must be chunked/],
    ['no coding', ['Transfer-Encoding', 'identity'], /must be chunked/],
  ] // prettier-ignore
  for (const [what, rawHeaders, message] of rows) {
    const read = () => readRequest({ method: 'GET', url: '/version', rawHeaders })
    if (message === undefined) t.doesNotThrow(read, what)
    else t.throws(read, { code: 'KUBE_STATUS', message }, what)
  }
  t.throws(() => readRequest({ method: 'GET', url: 'http://a/api', rawHeaders: [] }), {
    message: /400 .*the request target must be a path of the apiserver/,
  })
  t.end()
})

// SPDX-License-Identifier: Apache-2.0
import type { Random } from '../../../../core/random.js'
import { pick } from './objects.js'
import type { RawCall } from './raw-call.js'
import { drawRead } from './reads.js'
import { JSON_TYPE, maybe, PLACES, type Step } from './step.js'
import { drawRewrite, drawWrite } from './writes.js'

const drawUpgrade = (random: Random): Step => {
  const upgrade = pick(random, ['h2c', 'websocket', 'SPDY/3.1', 'TLS/1.0', 'foo, websocket', ''])
  const target = pick(random, [
    '/api/v1/nodes',
    '/api/v1/namespaces/{ns}/services',
    '/api/v1/namespaces/{ns}/pods/none/exec?command=x',
  ])
  const headers: [string, string][] = [
    ['Accept', JSON_TYPE],
    ['Connection', pick(random, ['Upgrade', 'upgrade, HTTP2-Settings', 'keep-alive'])],
    ['Upgrade', upgrade],
    ['HTTP2-Settings', 'AAMAAABkAAQAAP__'],
  ]
  return {
    kind: 'call',
    what: 'upgrade',
    call: { method: 'GET', target, headers, body: undefined },
  }
}

const drawBrokenOff = (random: Random): Step => {
  const base = pick(random, [drawRead, drawWrite, drawUpgrade])(random)
  if (base.kind !== 'call') return base
  const watch: RawCall = {
    ...base.call,
    method: 'GET',
    target: `${pick(random, ['/api/v1/nodes', '/api/v1/services'])}?watch=1`,
    body: undefined,
  }
  const long = { ...base.call, method: 'POST', body: 'x'.repeat(random.below(400_000)) }
  const call = pick(random, [base.call, watch, long])
  const after = pick(random, ['sent', 'received'] as const)
  return {
    kind: 'broken off',
    what: `broken off: ${after}`,
    call: { ...call, breakOff: { after, bytes: random.below(after === 'sent' ? 600 : 2_000) } },
  }
}

const drawNoise = (random: Random): Step => {
  const lines = [
    'GET / HTTP/9.9\r\n\r\n',
    'GET /api/v1/nodes HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    'POST /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n',
    `GET /${'a'.repeat(70_000)} HTTP/1.1\r\n\r\n`,
    '\r\n\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'POST /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  ]
  const bytes = maybe(random, 50)
    ? Buffer.from(pick(random, lines))
    : Buffer.from(Array.from({ length: random.below(400) }, () => random.below(256)))
  return { kind: 'noise', what: 'noise', bytes }
}

/** One step of a run. */
export const drawStep = (random: Random): Step => {
  const draw = random.below(100)
  if (draw < 32) return drawRead(random)
  if (draw < 68) return drawWrite(random)
  if (draw < 82) return drawRewrite(random)
  if (draw < 86) return drawUpgrade(random)
  if (draw < 93) return drawBrokenOff(random)
  if (draw < 96) return drawNoise(random)
  return { kind: 'health', what: 'health', node: pick(random, PLACES) }
}

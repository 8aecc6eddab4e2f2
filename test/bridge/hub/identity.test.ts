// SPDX-License-Identifier: Apache-2.0
import { Socket } from 'node:net'
import t from 'tap'
import { commonNameOf, identify, type UpgradeClaim } from '../../../bridge/hub/identity.js'

const good: UpgradeClaim = {
  method: 'GET',
  url: '/e632aba927ea4ac2b575ec1603d56f10/edge-1/events',
  headers: { node_id: 'edge-1', connectionuse: 'msg' },
  commonName: 'system:node:edge-1',
}

t.strictSame(identify(good), { ok: true, node: 'edge-1' })

const rows: readonly [string, Partial<UpgradeClaim>, number][] = [
  ['the certificate is another node’s', { commonName: 'system:node:edge-2' }, 403],
  ['the certificate is no node’s', { commonName: 'edge-1' }, 403],
  ['there is no certificate, or one with two names', { commonName: undefined }, 403],
  ['the header names another node', { headers: { ...good.headers, node_id: 'edge-2' } }, 403],
  ['the header comes twice', { headers: { ...good.headers, node_id: 'edge-1, edge-1' } }, 403],
  ['there is no header', { headers: { connectionuse: 'msg' } }, 403],
  ['the path names another node', { url: '/p/edge-2/events' }, 403],
  ['the path is longer', { url: '/p/edge-1/events/x' }, 404],
  ['the path has a query', { url: '/p/edge-1/events?a' }, 404],
  ['the path is another', { url: '/edge-1/events' }, 404],
  ['there is no path', { url: undefined }, 404],
  ['it is no GET', { method: 'POST' }, 404],
  ['the name is none', { url: '/p/Edge_1/events' }, 400],
  ['the name climbs', { url: '/p/../events' }, 400],
  ['the name is encoded', { url: '/p/edge%2d1/events' }, 400],
  ['it is no connection for messages', { headers: { node_id: 'edge-1' } }, 400],
]
for (const [what, change, status] of rows)
  t.match(identify({ ...good, ...change }), { ok: false, status, reason: /./ }, what)

t.test('a name counts only if there is exactly one', t => {
  t.equal(commonNameOf(new Socket()), undefined, 'no TLS')
  const shows = (subject: unknown, authorized = true): Socket =>
    Object.assign(new Socket(), { authorized, getPeerCertificate: () => ({ subject }) })
  t.equal(commonNameOf(shows({ CN: 'system:node:a' })), 'system:node:a')
  t.equal(commonNameOf(shows({ CN: ['system:node:a', 'system:node:b'] })), undefined)
  t.equal(commonNameOf(shows(undefined)), undefined)
  t.equal(commonNameOf(shows({ CN: 'system:node:a' }, false)), undefined, 'of another authority')
  t.end()
})

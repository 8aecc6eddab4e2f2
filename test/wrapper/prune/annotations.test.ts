// SPDX-License-Identifier: Apache-2.0
import { isIP } from 'node:net'
import t from 'tap'
import { isAddress } from '../../../wrapper/prune/address.js'
import { readLocalEndpoint } from '../../../wrapper/prune/local-endpoint.js'
import { parseTopologyKeys } from '../../../wrapper/prune/topology-keys.js'
import { readEndpoints } from '../../../wrapper/wire/endpoints.js'
import { fromJson } from '../../../wrapper/wire/from-json.js'
import { localRewrite } from '../../../wrapper/wire/local-rewrite.js'
import { readMeta } from '../../../wrapper/wire/meta.js'
import { readSlice } from '../../../wrapper/wire/slice.js'
import { toJson } from '../../../wrapper/wire/to-json.js'
import fc from '../../../testkit/properties.js'

t.test('topologyKeys that are good', t => {
  const rows: [why: string, text: string | undefined, keys: readonly string[]][] = [
    ['no annotation asks for nothing', undefined, []],
    ['nor does an empty list', ' [] ', []],
    ['one key', '["zone"]', ['zone']],
    ['several keep their order', '["b","a"]', ['b', 'a']],
    ['a key twice is a key once', '["a","b","a"]', ['a', 'b']],
    ['with a prefix', '["topology.kubernetes.io/zone","*"]', ['topology.kubernetes.io/zone', '*']],
    ['the longest', `["${'a'.repeat(63)}"]`, ['a'.repeat(63)]],
  ]
  for (const [why, text, keys] of rows)
    t.strictSame(parseTopologyKeys(text, { keys: ['old'] }), { keys }, why)
  t.end()
})

t.test('topologyKeys that are malformed keep the last good ones', t => {
  const texts = [
    'zone',
    '"zone"',
    '{"0":"zone"}',
    'null',
    '["zone"',
    '[1]',
    '[""]',
    '["a b"]',
    '["-a"]',
    '["/a"]',
    '["a/"]',
    '["a/b/c"]',
    '["A/b"]',
    `["${'a'.repeat(64)}"]`,
    `["${'a'.repeat(254)}/b"]`,
    JSON.stringify(Array.from({ length: 17 }, (_, at) => `k${at}`)),
  ]
  for (const text of texts) {
    const { keys, trouble } = parseTopologyKeys(text, { keys: ['old'] })
    t.strictSame([keys, typeof trouble], [['old'], 'string'], text.slice(0, 40))
  }
  const twice = parseTopologyKeys('x y', parseTopologyKeys('z z', { keys: ['old'] }))
  t.strictSame(twice.keys, ['old'], 'however often')
  t.strictSame(parseTopologyKeys('x y', undefined).keys, ['kubernetes.io/hostname'])
  t.strictSame(
    parseTopologyKeys('x y', parseTopologyKeys(undefined, undefined)).keys,
    [],
    'no topology was a good rule',
  )
  t.end()
})

const ADDRESS = 'superedge.io/local-endpoint'
const PORT = 'superedge.io/local-port'
const annotated = (address?: string, port?: string): ReadonlyMap<string, string> =>
  new Map([
    ...(address === undefined ? [] : ([[ADDRESS, address]] as const)),
    ...(port === undefined ? [] : ([[PORT, port]] as const)),
  ])

t.test("the apiserver's address on this node", t => {
  const rewrite = (address: string, port: number): object => ({ kind: 'rewrite', address, port })
  const rows: [
    why: string,
    service: string,
    annotations: ReadonlyMap<string, string>,
    want: object,
  ][] = [
    [
      'both annotations',
      'default/kubernetes',
      annotated('127.0.0.1', '51003'),
      rewrite('127.0.0.1', 51003),
    ],
    ['another service', 'default/web', annotated('127.0.0.1', '51003'), { kind: 'none' }],
    ['another namespace', 'other/kubernetes', annotated('127.0.0.1', '51003'), { kind: 'none' }],
    ['no annotation', 'default/kubernetes', annotated(), { kind: 'none' }],
  ]
  for (const [why, service, annotations, want] of rows)
    t.strictSame(readLocalEndpoint(service, annotations), want, why)
  const bad: [address: string | undefined, port: string | undefined][] = [
    ['127.0.0.1', undefined],
    [undefined, '51003'],
    ['localhost', '51003'],
    ['127.0.0.1', '0'],
    ['127.0.0.1', '65536'],
    ['127.0.0.1', '5e3'],
    ['127.0.0.1', ' 80'],
    ['127.0.0.1', ''],
  ]
  for (const [address, port] of bad)
    t.match(
      readLocalEndpoint('default/kubernetes', annotated(address, port)),
      { kind: 'malformed', trouble: /superedge/ },
      `${String(address)} ${String(port)}`,
    )
  t.end()
})

t.test('any address is accepted, so that containers and IPVS can reach it', t => {
  for (const address of ['169.254.20.11', '10.0.0.1', 'fd00::1'])
    t.strictSame(readLocalEndpoint('default/kubernetes', annotated(address, '51003')), {
      ...{ kind: 'rewrite', address, port: 51_003 },
    })
  t.end()
})

t.test('an address is valid if Node.js says so', t => {
  const piece = fc.constantFrom(
    '0',
    '1',
    'ffff',
    '10000',
    '255',
    '256',
    '01',
    ':',
    '::',
    '.',
    'g',
    '%1',
  )
  const text = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.array(piece, { maxLength: 10 }).map(pieces => pieces.join('')),
    fc
      .array(fc.constantFrom('0', 'ab', '1.2.3.4', ''), { maxLength: 9 })
      .map(parts => parts.join(':')),
  )
  fc.assert(
    fc.property(text, text => isAddress(text) === (isIP(text) !== 0 && !text.includes('%'))),
    {
      numRuns: 5000,
    },
  )
  t.end()
})

t.test('the local endpoint follows its annotations', t => {
  const endpoints = (address: string): Uint8Array =>
    fromJson('Endpoints', {
      metadata: {
        name: 'kubernetes',
        namespace: 'default',
        annotations: { [ADDRESS]: address, [PORT]: '51003' },
      },
      subsets: [
        {
          addresses: [{ ip: '192.0.2.1' }, { ip: '192.0.2.2' }],
          ports: [{ name: 'https', port: 6443 }],
        },
      ],
    })
  for (const address of ['127.0.0.1', '169.254.20.11']) {
    const raw = endpoints(address)
    const local = readLocalEndpoint('default/kubernetes', readMeta(raw).annotations)
    if (local.kind !== 'rewrite') throw new Error('it must be rewritten')
    const rewritten = localRewrite('Endpoints', raw, local)
    t.strictSame(toJson('Endpoints', rewritten)['subsets'], [
      { addresses: [{ ip: address }], ports: [{ name: 'https', port: 51003, protocol: 'TCP' }] },
    ])
    t.strictSame(readMeta(rewritten), readMeta(raw), 'the metadata stays')
    t.equal(readEndpoints(rewritten).endpoints[0]?.node, undefined, 'on no node: never pruned')
  }
  t.end()
})

t.test('a slice is rewritten to one endpoint of the family of its address', t => {
  const raw = fromJson('EndpointSlice', {
    metadata: {
      name: 'kubernetes',
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': 'kubernetes' },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['192.0.2.1'] }, { addresses: ['192.0.2.2'] }],
    ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
  })
  for (const [address, addressType] of [
    ['127.0.0.1', 'IPv4'],
    ['::1', 'IPv6'],
  ] as const) {
    const rewritten = localRewrite('EndpointSlice', raw, { address, port: 51003 })
    t.match(toJson('EndpointSlice', rewritten), {
      metadata: { name: 'kubernetes' },
      addressType,
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports: [{ name: 'https', port: 51003, protocol: 'TCP' }],
    })
    t.equal(readSlice(rewritten).endpoints.length, 1)
    t.equal(readSlice(rewritten).service, 'kubernetes')
  }
  t.strictSame(
    toJson(
      'EndpointSlice',
      localRewrite('EndpointSlice', new Uint8Array(0), { address: '::1', port: 1 }),
    )['metadata'],
    {},
    'an object without metadata gets none',
  )
  t.end()
})

t.test('FW19: empty text means no topology, as with SuperEdge, and is reported', t => {
  const zone = parseTopologyKeys('["zone"]', undefined)
  for (const text of ['', ' ', '\n']) {
    const rule = parseTopologyKeys(text, zone)
    t.strictSame(rule.keys, [], 'whatever there was before')
    t.match(rule.trouble, /topologyKeys is empty/)
    t.not(parseTopologyKeys('zone', rule).keys.length, 0, 'but it is no good list')
    t.strictSame(parseTopologyKeys('["a"]', rule), { keys: ['a'] })
  }
  t.end()
})

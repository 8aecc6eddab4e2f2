// SPDX-License-Identifier: Apache-2.0
// The tables of SuperEdge's own unit tests (storage cache of application-grid-wrapper), as far as they speak of pruning.
import t from 'tap'
import { decide } from '../../../wrapper/prune/decide.js'
import { parseTopologyKeys } from '../../../wrapper/prune/topology-keys.js'
import { pruneEndpoints, readEndpoints } from '../../../wrapper/wire/endpoints.js'
import { fromJson } from '../../../wrapper/wire/from-json.js'
import { readService } from '../../../wrapper/wire/service.js'
import { pruneSlice, readSlice } from '../../../wrapper/wire/slice.js'
import { toJson } from '../../../wrapper/wire/to-json.js'
import { asV1beta1 } from '../../../wrapper/wire/v1beta1.js'
import { makeEndpoints, makeSlice, makeSurroundings } from '../wrapper-objects.js'

const PLACES = ['.1@hostname', '.2@node-1', '.3@node-2'] as const
const REGION = { topologyKeys: '["region"]' }

/** What is left of a service with these annotations, where the three nodes are in these regions. */
const leftOf = (
  annotations: Readonly<Record<string, string>>,
  regions: readonly [hostname: string, node1: string, node2: string],
): Readonly<Record<'endpoints' | 'slice', readonly string[]>> => {
  const service = fromJson('Service', {
    metadata: { name: 'web', namespace: 'default', annotations },
  })
  const rule = parseTopologyKeys(readService(service).topologyKeys, undefined)
  const [hostname, node1, node2] = regions.map(region => ({ region }))
  const around = makeSurroundings({
    self: 'hostname',
    nodes: { hostname: hostname!, 'node-1': node1!, 'node-2': node2! },
  })
  const judged = { name: 'default/web', rule }

  const endpoints = makeEndpoints('web', PLACES)
  const ofEndpoints = decide(judged, readEndpoints(endpoints).endpoints, around)
  const leftEndpoints = pruneEndpoints(endpoints, (_, at) => ofEndpoints[at]!.keep)
  const slice = makeSlice('web-abcde', 'web', PLACES)
  const ofSlice = decide(judged, readSlice(slice).endpoints, around)
  const leftSlice = pruneSlice(slice, (_, at) => ofSlice[at]!.keep)
  return {
    endpoints: readEndpoints(leftEndpoints).endpoints.map(({ address }) => address),
    slice: readSlice(leftSlice).endpoints.map(({ address }) => address),
  }
}
const both = (...addresses: readonly string[]): object => ({
  endpoints: addresses,
  slice: addresses,
})

t.test('endpoints with node changes', t => {
  const rows: [why: string, regions: [string, string, string], want: object][] = [
    ['A: the host and node-1 are in region 1', ['1', '1', '2'], both('.1', '.2')],
    ['B: the host moves to region 2', ['2', '1', '2'], both('.1', '.3')],
    ['C: node-2 moves on to region 3', ['2', '1', '3'], both('.1')],
  ]
  for (const [why, regions, want] of rows) {
    t.strictSame(leftOf(REGION, regions), want, `${why}: region-1`)
    t.strictSame(leftOf({}, regions), both('.1', '.2', '.3'), `${why}: no-region`)
  }
  t.end()
})

t.test('endpoints with service updates', t => {
  const regions = ['1', '1', '2'] as const
  t.strictSame(leftOf(REGION, regions), both('.1', '.2'), 'A: region-1')
  t.strictSame(leftOf({}, regions), both('.1', '.2', '.3'), 'A: no-region')
  t.strictSame(leftOf({ note: 'x' }, regions), both('.1', '.2', '.3'), 'B: another annotation')
  t.strictSame(leftOf(REGION, regions), both('.1', '.2'), 'C: no-region gets topologyKeys')
  t.end()
})

t.test('services with several keys and nodes without labels', t => {
  const empty = ['', '', ''] as const
  t.strictSame(leftOf({ topologyKeys: '["foo","bar"]' }, empty), both('.1'), 'only its own')
  t.end()
})

t.test('an empty slice is converted', t => {
  t.strictSame(toJson('EndpointSliceV1beta1', asV1beta1(fromJson('EndpointSlice', {}))), {
    metadata: {},
    endpoints: null,
    ports: null,
    addressType: '',
  })
  t.end()
})

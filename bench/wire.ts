// SPDX-License-Identifier: Apache-2.0
// What the wrapper's bytes cost: reading, pruning and writing 5 000 slices of 30 endpoints.
import { decide, type Surroundings } from '../wrapper/prune/decide.js'
import { envelope, listChunks, openEnvelope, splitList } from '../wrapper/wire/envelope.js'
import { fromJson } from '../wrapper/wire/from-json.js'
import { readMeta, withVersion } from '../wrapper/wire/meta.js'
import { pruneSlice, readSlice } from '../wrapper/wire/slice.js'
import { toJson } from '../wrapper/wire/to-json.js'
import { asV1beta1 } from '../wrapper/wire/v1beta1.js'

const SLICES = 5_000
const ENDPOINTS = 30
const NODES = 10
const ROUNDS = 5

const sliceJson = (service: number): object => ({
  metadata: {
    name: `service-${service}-abcde`,
    generateName: `service-${service}-`,
    namespace: 'default',
    uid: '11111111-2222-3333-4444-555555555555',
    resourceVersion: '123456',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: {
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      'kubernetes.io/service-name': `service-${service}`,
    },
  },
  addressType: 'IPv4',
  endpoints: Array.from({ length: ENDPOINTS }, (_, at) => ({
    addresses: [`10.${service % 250}.${at}.1`],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `node-${(service + at) % NODES}`,
    targetRef: {
      kind: 'Pod',
      namespace: 'default',
      name: `service-${service}-5b77f6fd8b-${at}`,
      uid: '11111111-2222-3333-4444-555555555555',
    },
  })),
  ports: [{ name: '', port: 8080, protocol: 'TCP' }],
})

const HELP = `usage: npm run bench -- wire
What the wrapper's bytes cost: ${SLICES} slices of ${ENDPOINTS} endpoints on ${NODES} nodes, as the endpointslice-controller
writes them. CPU time, the best of ${ROUNDS} rounds.
`

const around: Surroundings = {
  self: 'node-0',
  isSelfKnown: true,
  sharesValue: () => false,
  health: name => (name === 'node-7' ? 'dead' : 'normal'),
  healthIsFresh: true,
  keysMode: 'any',
}

const measure = <T>(what: string, work: () => T): T => {
  let best = Infinity
  let result = work()
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage()
    result = work()
    const { user, system } = process.cpuUsage(before)
    best = Math.min(best, (user + system) / 1000)
  }
  process.stdout.write(`${what.padEnd(46)} ${best.toFixed(1).padStart(8)} ms of CPU\n`)
  return result
}

const run = (): void => {
  const jsons = Array.from({ length: SLICES }, (_, service) => sliceJson(service))
  const slices = measure('write all from JSON', () =>
    jsons.map(json => fromJson('EndpointSlice', { ...json })),
  )
  const bytes = slices.reduce((sum, { length }) => sum + length, 0)
  process.stdout.write(
    `${SLICES} slices × ${ENDPOINTS} endpoints: ${(bytes / 1e6).toFixed(1)} MB\n`,
  )

  const prune = (raw: Uint8Array): Uint8Array => {
    const { endpoints } = readSlice(raw)
    const decisions = decide({ name: 'default/x', rule: undefined }, endpoints, around)
    return pruneSlice(raw, (_, at) => decisions[at]!.keep)
  }
  const head = {
    apiVersion: 'v1',
    kind: 'EndpointSliceList',
    version: '1',
    continue: '',
    remaining: undefined,
  }
  measure('read the metadata of all', () => slices.map(readMeta))
  measure('read the endpoints of all', () => slices.map(readSlice))
  measure('prune all of a dead node', () => slices.map(prune))
  measure('prune 500 of a dead node', () => slices.slice(0, 500).map(prune))
  measure('give all another version', () => slices.map(raw => withVersion(raw, '1234567890')))
  measure('envelope all', () =>
    slices.map(raw => envelope('discovery.k8s.io/v1', 'EndpointSlice', raw)),
  )
  const list = measure('write the list', () => Buffer.concat([...listChunks(head, slices)]))
  measure('split the list', () => splitList(openEnvelope(list).raw))
  measure('turn all into v1beta1', () => slices.map(asV1beta1))
  measure('turn all into JSON text', () =>
    slices.map(raw => JSON.stringify(toJson('EndpointSlice', raw))),
  )
}

if (process.argv.includes('--help')) process.stdout.write(HELP)
else run()

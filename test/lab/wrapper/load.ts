// SPDX-License-Identifier: Apache-2.0
// Other people's Services, whose endpoints never rest.
import type { ApiClient, Json } from '../../../sandbox/api-client.js'

/** Changes going on until the signal. */
export type Load = (api: ApiClient, signal: AbortSignal) => Promise<void>

const SERVICES = '/api/v1/namespaces/default/services'
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
const ENDPOINTS = 10

const service = (name: string): Json => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, labels: { load: 'yes' } },
  spec: { ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
})

const endpoints = (service: number, turn: number): Json => ({
  endpoints: Array.from({ length: ENDPOINTS }, (_, i) => ({
    addresses: [`10.210.${service}.${((turn + i) % 250) + 1}`],
    conditions: { ready: true },
  })),
})

const slice = (name: string, nth: number): Json => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name, labels: { 'kubernetes.io/service-name': name, load: 'yes' } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  ...endpoints(nth, 0),
})

const nameOf = (nth: number): string => `load-${nth}`

export const makeLoad =
  ({ services, perSecond }: { services: number; perSecond: number }): Load =>
  async (api, signal) => {
    for (let i = 0; i < services; i++) {
      await api.post(SERVICES, service(nameOf(i)), signal)
      await api.post(SLICES, slice(nameOf(i), i), signal)
    }
    for (let turn = 1; !signal.aborted; turn++) {
      const nth = turn % services
      const change = endpoints(nth, turn)
      await api.patch(`${SLICES}/${nameOf(nth)}`, 'merge', change, signal).catch(() => undefined)
      await new Promise(resolve => setTimeout(resolve, 1_000 / perSecond))
    }
  }

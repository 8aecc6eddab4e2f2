// SPDX-License-Identifier: Apache-2.0
import type { ApiClient, Json } from './api-client.js'

/** The objects that agents need: the zone's ConfigMap and the Secret with its shared key. */
const zoneObjects = (key: string): readonly (readonly [path: string, object: Json])[] => {
  const inNamespace = (name: string): Json => ({ name, namespace: 'edge-system' })
  return [
    [
      '/api/v1/namespaces',
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'edge-system' } },
    ],
    [
      '/api/v1/namespaces/edge-system/configmaps',
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: inNamespace('edge-health-zone-config'),
        data: { TaintZoneAdmission: 'true' },
      },
    ],
    [
      '/api/v1/namespaces/edge-system/secrets',
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: inNamespace('edge-health-keys'),
        data: { primary: Buffer.from(key).toString('base64') },
      },
    ],
  ]
}

/** The label that makes a node a member of a zone. */
export const ZONE_LABEL = 'superedgehealth/topology-zone'

/** Create the Namespace, the zone's ConfigMap and the Secret with `key`. */
export const createZoneObjects = async (
  api: ApiClient,
  key: string,
  signal: AbortSignal,
): Promise<void> => {
  for (const [path, object] of zoneObjects(key)) await api.post(path, object, signal)
}

/** A kubeconfig for one client. JSON is YAML too. */
export const kubeconfigText = (server: string, user: string, token: string | undefined): string =>
  `${JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'sandbox', cluster: { server } }],
      users: [{ name: user, user: token === undefined ? {} : { token } }],
      contexts: [{ name: 'sandbox', context: { cluster: 'sandbox', user } }],
      'current-context': 'sandbox',
    },
    undefined,
    2,
  )}\n`

// SPDX-License-Identifier: Apache-2.0
// The webhook in the place of SuperEdge's: its registration as it is, its Service, its flags, and a certificate in files.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makePair, serviceNames } from '../../../admission/run/certificates.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'

export const SUPEREDGE = 'edge-health-admission'
const NAMESPACE = 'edge-system'

const webhook = (name: string, resource: string, path: string, ca: string) => ({
  name,
  clientConfig: {
    service: { namespace: NAMESPACE, name: SUPEREDGE, path },
    caBundle: Buffer.from(ca).toString('base64'),
  },
  rules: [
    {
      ...{ apiGroups: ['*'], apiVersions: ['*'], operations: ['UPDATE'] },
      ...{ resources: [resource], scope: '*' },
    },
  ],
  ...{ failurePolicy: 'Ignore', matchPolicy: 'Exact', reinvocationPolicy: 'Never' },
  ...{ sideEffects: 'None', timeoutSeconds: 5, admissionReviewVersions: ['v1beta1'] },
})

/** @returns the flags of a replica that answers it */
export const registerSuperEdge = async (plane: ControlPlane): Promise<readonly string[]> => {
  const { ca, cert, key } = await makePair(serviceNames(SUPEREDGE, NAMESPACE), Date.now())
  const registration = {
    ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'MutatingWebhookConfiguration' },
    metadata: { name: SUPEREDGE },
    webhooks: [
      webhook('node-taint.k8s.io', 'nodes', '/node-taint', ca),
      webhook('endpoint.k8s.io', 'endpoints', '/endpoint', ca),
    ],
  }
  const service = {
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: SUPEREDGE, namespace: NAMESPACE } },
    spec: { ports: [{ name: 'reviews', port: 443, targetPort: 8443 }] },
  }
  const list = { apiVersion: 'v1', kind: 'List', items: [service, registration] }
  await plane.kubectl(['apply', '-f', '-'], JSON.stringify(list))
  const files = { cert: join(plane.dir, 'superedge.pem'), key: join(plane.dir, 'superedge.key') }
  writeFileSync(files.cert, cert)
  writeFileSync(files.key, key, { mode: 0o600 })
  return [
    `--admission-control-server-cert=${files.cert}`,
    `--admission-control-server-key=${files.key}`,
    ...['--alsologtostderr', '--v=4'],
  ]
}

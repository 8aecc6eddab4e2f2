// SPDX-License-Identifier: Apache-2.0
// What stands in the cluster beside the Nodes: deploy/base as it is in its namespace, its key, one Pod of the DaemonSet per node, and a
// service with a Pod on each node, to see whom the control plane evicts.
import { randomBytes } from 'node:crypto'
import type { Json } from '../../sandbox/api-client.js'
import type { ControlPlane } from '../../testkit/control-plane/control-plane.js'

const PODS = '/api/v1/namespaces/default/pods'

/** The zone's shared key, and the one that a rotation adds. */
export interface Keys {
  readonly primary: string
  readonly secondary?: string
}

export const makeKey = (): string => randomBytes(32).toString('base64')

/** Put the Secret in place, as the operator's page says. */
export const applyKeys = async (plane: ControlPlane, keys: Keys): Promise<void> => {
  const literals = Object.entries(keys).map(([name, key]) => `--from-literal=${name}=${key}`)
  const create = ['-n', 'edge-system', 'create', 'secret', 'generic', 'edge-health-keys']
  const made = await plane.kubectl([...create, ...literals, '--dry-run=client', '-o', 'yaml'])
  await plane.kubectl(['apply', '-f', '-'], made)
}

/** Everything that an operator applies, by an operator's commands. */
export const applyDeploy = async (plane: ControlPlane, keys: Keys): Promise<void> => {
  await plane.kubectl(['apply', '-k', 'deploy/components/namespace'])
  await plane.kubectl(['apply', '-k', 'deploy/base'])
  await applyKeys(plane, keys)
  await plane.kubectl(['create', 'service', 'clusterip', 'shop', '--tcp=80:80'])
}

/** A Pod of a service. */
export interface ServicePod {
  readonly app: string
  readonly name: string
  readonly node: string
  readonly address: string
  /** How long it bears a node that the control plane calls unreachable. */
  readonly toleratedS: number
}

const podBody = ({ app, name, node, toleratedS }: ServicePod): Json => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app } },
  spec: {
    nodeName: node,
    containers: [{ name: app, image: app }],
    terminationGracePeriodSeconds: 0,
    tolerations: ['unreachable', 'not-ready'].map(what => ({
      key: `node.kubernetes.io/${what}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: toleratedS,
    })),
  },
})

/** A running Pod of a service, in place of whatever is left of an earlier one. */
export const renewPod = async (
  plane: ControlPlane,
  pod: ServicePod,
  signal: AbortSignal,
): Promise<void> => {
  const { name, address } = pod
  await plane.kubectl(['delete', 'pod', name, '--ignore-not-found', '--force', '--grace-period=0'])
  await plane.admin.post(PODS, podBody(pod), signal)
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  const condition = (type: string): Json => ({ type, status: 'True', lastTransitionTime: now })
  const status = {
    phase: 'Running',
    podIP: address,
    podIPs: [{ ip: address }],
    startTime: now,
    conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(condition),
  }
  await plane.admin.patch(`${PODS}/${name}/status`, 'strategic-merge', { status }, signal)
}

// SPDX-License-Identifier: Apache-2.0
import type { JsonMap } from '../../core/json.js'
import { mapAt, mapsAt, textAt } from '../../core/json-at.js'

const second = (wall: number): string => `${new Date(wall).toISOString().slice(0, 19)}Z`

/** A MicroTime of the Kubernetes API. */
const micro = (wall: number): string => new Date(wall).toISOString().replace('Z', '000Z')

const condition = (type: string, isTrue: boolean, wall: number, reason: string): JsonMap => ({
  ...{ type, status: isTrue ? 'True' : 'False' },
  ...{ lastHeartbeatTime: second(wall), lastTransitionTime: second(wall) },
  ...{ reason, message: 'simulated' },
})

const nodeConditions = (wall: number): readonly JsonMap[] => [
  condition('MemoryPressure', false, wall, 'EdgeHasSufficientMemory'),
  condition('DiskPressure', false, wall, 'EdgeHasNoDiskPressure'),
  condition('PIDPressure', false, wall, 'EdgeHasSufficientPID'),
  condition('Ready', true, wall, 'EdgeReady'),
]

/** What an edge registers itself with. */
export const nodeBody = (node: string, ip: string, wall: number): JsonMap => ({
  metadata: {
    name: node,
    creationTimestamp: null,
    labels: {
      'beta.kubernetes.io/arch': 'amd64',
      'beta.kubernetes.io/os': 'linux',
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/hostname': node,
      'kubernetes.io/os': 'linux',
      'node-role.kubernetes.io/agent': '',
      'node-role.kubernetes.io/edge': '',
    },
  },
  spec: {},
  status: {
    capacity: { cpu: '1', memory: '3840Mi', pods: '110' },
    allocatable: { cpu: '1', memory: '3740Mi', pods: '110' },
    conditions: nodeConditions(wall),
    addresses: [
      { type: 'InternalIP', address: ip },
      { type: 'Hostname', address: node },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: 10350 } },
    nodeInfo: {
      ...{
        machineID: '',
        systemUUID: '',
        bootID: '',
        kernelVersion: '6.1.0',
        osImage: 'simulated',
      },
      ...{ containerRuntimeVersion: 'simulated://1', kubeletVersion: 'v1.32.9-kubeedge-v1.23.1' },
      ...{ kubeProxyVersion: '', operatingSystem: 'linux', architecture: 'amd64' },
    },
  },
})

/** The strategic merge patch of a node's signs of life, as text. */
export const nodePatch = (wall: number): string =>
  JSON.stringify({
    status: {
      '$setElementOrder/conditions': nodeConditions(wall).map(({ type }) => ({ type })),
      conditions: nodeConditions(wall).map(({ type, lastHeartbeatTime }) => ({
        ...{ type, lastHeartbeatTime },
      })),
    },
  })

/** The patch of a node that others took for dead: its conditions as they are. */
export const nodeStatusPatch = (wall: number): string =>
  JSON.stringify({ status: { conditions: nodeConditions(wall) } })

/** Does this Node say that it is not ready? */
export const isUnready = (nodeObject: unknown): boolean =>
  mapsAt(nodeObject, 'status', 'conditions').some(
    each => textAt(each, 'type') === 'Ready' && textAt(each, 'status') !== 'True',
  )

/** A first Lease, owned by the Node; undefined while the edge does not know its Node. */
export const leaseBody = (node: string, nodeObject: unknown, wall: number): JsonMap | undefined => {
  const uid = textAt(nodeObject, 'metadata', 'uid')
  if (uid === '') return undefined
  return {
    metadata: {
      name: node,
      namespace: 'kube-node-lease',
      creationTimestamp: null,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node, uid }],
    },
    spec: { holderIdentity: node, leaseDurationSeconds: 40, renewTime: micro(wall) },
  }
}

/** The whole Lease with a new time. */
export const renewedLease = (lease: JsonMap, wall: number): JsonMap => ({
  ...lease,
  spec: { ...mapAt(lease, 'spec'), renewTime: micro(wall) },
})

/** How far a pod has come. */
export type PodPhase = 'Pending' | 'Running' | 'Succeeded'

const isReady: Readonly<Record<PodPhase, boolean>> = {
  Pending: false,
  Running: true,
  Succeeded: false,
}

const stateOf = (phase: PodPhase, wall: number): JsonMap => {
  switch (phase) {
    case 'Pending':
      return { waiting: { reason: 'ContainerCreating' } }
    case 'Running':
      return { running: { startedAt: second(wall) } }
    case 'Succeeded':
      return { terminated: { exitCode: 0, reason: 'Completed', finishedAt: second(wall) } }
  }
}

/** The strategic merge patch of a pod's status, as text. */
export const podPatch = (pod: unknown, phase: PodPhase, ip: string, wall: number): string => {
  const ready = isReady[phase]
  const types: readonly (readonly [string, boolean])[] = [
    ['PodReadyToStartContainers', ready],
    ['Initialized', true],
    ['Ready', ready],
    ['ContainersReady', ready],
    ['PodScheduled', true],
  ]
  const containerStatuses = mapsAt(pod, 'spec', 'containers').map(container => ({
    name: textAt(container, 'name'),
    image: textAt(container, 'image'),
    ...{ imageID: '', ready, started: ready, restartCount: 0, state: stateOf(phase, wall) },
  }))
  return JSON.stringify({
    metadata: { uid: textAt(pod, 'metadata', 'uid') },
    status: {
      phase,
      conditions: types.map(([type, isTrue]) => ({
        ...{ type, status: isTrue ? 'True' : 'False' },
        ...{ lastProbeTime: null, lastTransitionTime: second(wall) },
      })),
      containerStatuses,
      hostIP: ip,
      ...(phase === 'Pending' ? {} : { podIP: ip, podIPs: [{ ip }] }),
      startTime: second(wall),
    },
  })
}

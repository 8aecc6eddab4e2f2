// SPDX-License-Identifier: Apache-2.0
// A node of the zone: what the world knows of it, and its objects in the cluster.
import type { Agent } from '../../agent/agent.js'
import type { StateName } from '../../agent/state-folder.js'
import type { ProcessClock, WallClock } from '../process-clock.js'
import { recordingLog } from '../recording-log.js'

/** How a kubelet is: it answers, says that it is bad, has no open port, has a healthz port that never answers, or is well and has none. */
type Health = 'well' | 'sick' | 'silent' | 'hanging' | 'portless'

/** The address of a container bridge, which every machine has for itself. */
export const BRIDGE = '172.17.0.1'

export const isWell = (kubelet: Health): boolean => kubelet === 'well' || kubelet === 'portless'

export const notBraked = (): boolean => false

export interface Machine {
  readonly name: string
  readonly address: string
  readonly disk: Map<StateName, string>
  /** Files that cannot be written, and why. */
  readonly diskTroubles: Map<StateName, string>
  readonly log: ReturnType<typeof recordingLog>
  readonly wall: WallClock
  /** What its agent can read, by path. */
  readonly files: Map<string, string>
  agent: Agent | undefined
  isBraked: () => boolean
  /** The agent's process and the kubelet's. */
  process: ProcessClock | undefined
  kubeletProcess: ProcessClock | undefined
  /** Options of its agent alone, over those of the zone; read when it boots. */
  flags: readonly string[]
  unlisten: () => void
  kubelet: Health
  isOn: boolean
  isFrozen: boolean
  /** Its cloud link was cut when it was frozen. */
  wasCut: boolean
  /** Somebody else's agent runs there, which is not ours to start. */
  isForeign: boolean
  /** Its answers take longer than any round waits. */
  isTooSlow: boolean
  /** Its own probes all fail, whatever they ask. */
  isBlind: boolean
  /** Its own probes cannot be made: no descriptor is left. */
  isUnable: boolean
  /** What somebody else answers at its address in the kubelet's place, while it is off; undefined refuses. */
  impostor: number | undefined
  /** The cluster lists it as a node of the zone. */
  isMember: boolean
}

const addressOfNode = (index: number): string => `10.0.${index >> 8}.${(index & 255) + 1}`

const LEASE_SECONDS = 40

export const makeMachine = (index: number): Machine => {
  const name = `n${index}`
  const address = addressOfNode(index)
  return {
    ...{
      name,
      address,
      disk: new Map(),
      diskTroubles: new Map(),
      log: recordingLog(['node']),
      wall: { offsetMs: 0 },
    },
    files: new Map(),
    ...{ agent: undefined, isBraked: notBraked, process: undefined, kubeletProcess: undefined },
    ...{ unlisten: () => undefined, kubelet: 'well', isOn: true },
    ...{
      isFrozen: false,
      wasCut: false,
      isForeign: false,
      isTooSlow: false,
      isBlind: false,
      isMember: true,
    },
    ...{ isUnable: false, impostor: undefined, flags: [] },
  }
}

/** Its Node, as the control plane has it when it is ready. */
export const nodeOf = (
  { address }: Pick<Machine, 'address'>,
  labels: Readonly<Record<string, string>>,
): Record<string, unknown> => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { labels },
  spec: {},
  status: {
    addresses: [{ type: 'InternalIP', address }],
    conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
  },
})

/** Its Lease before the first renewal. */
export const leaseOf = ({ name }: Pick<Machine, 'name'>): Record<string, unknown> => ({
  spec: {
    holderIdentity: name,
    leaseDurationSeconds: LEASE_SECONDS,
    renewTime: '2026-01-01T00:00:00.000000Z',
  },
})

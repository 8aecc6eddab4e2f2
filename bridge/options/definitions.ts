// SPDX-License-Identifier: Apache-2.0
import { isIP } from 'node:net'
import { inGroups, type Definitions, type OptionSet } from '../../options/definition.js'
import { boolean, duration, listenAddress, oneOf, path, type Kind } from '../../options/kinds.js'
import { klogFlags } from '../../options/klog.js'
import {
  kubeconfigOption,
  leaderIdentityOption,
  leaseNameOption,
  leaseNamespaceOption,
  logLevelOption,
  masterUrlOption,
  explainingStatusAddressOption,
} from '../../options/shared-definitions.js'
import type { VouchMode } from '../model/vouch/gap.js'
import type { BridgeOptions } from './bridge-options.js'

type Group = 'Kubernetes' | 'Edges' | 'Record' | 'Leader' | 'Listening' | 'Log'

const HOST = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const MOST_ADDRESSES = 16

const isAddress = (part: string): boolean => isIP(part) !== 0 || HOST.test(part)

/** IPs and names, as in a server certificate. */
const addresses: Kind<readonly string[]> = {
  name: 'addresses',
  rule: `must be 1 to ${MOST_ADDRESSES} IP addresses or host names in lower case, separated by commas`,
  parse: given => {
    const parts = given.split(',').map(part => part.trim())
    return parts.length <= MOST_ADDRESSES && parts.every(isAddress)
      ? { value: Object.freeze(parts) }
      : undefined
  },
  format: parts => parts.join(','),
}

/** Each option once: the only place that holds its name, unit, default and description. */
export const bridgeDefinitions: Definitions<BridgeOptions, Group> = {
  kubeconfig: kubeconfigOption,
  masterUrl: { ...masterUrlOption, aliases: [{ name: 'master' }] },
  advertiseAddresses: {
    flag: 'advertise-address',
    group: 'Edges',
    kind: addresses,
    default: '127.0.0.1',
    summary: 'IPs and names by which edges reach the bridge; its certificate names them',
  },
  answerWithinMs: {
    flag: 'answer-within',
    group: 'Edges',
    kind: duration('5s', '50s'),
    default: '30s',
    summary:
      'a request that has waited this long is answered with 504 instead of being carried out',
    relation: 'edges themselves wait 60 s; a Lease waits for 10 s at most',
  },
  vouch: {
    flag: 'vouch',
    group: 'Edges',
    kind: oneOf<VouchMode>('zone', 'grace', 'off'),
    default: 'zone',
    summary:
      "what renews the Lease of a node that the bridge lost or does not hear yet, for 120 s at most: the node's zone (its condition PeerHealth, at most 30 s old), time alone (`grace`, for edges without agents), or nothing",
  },
  stateDir: {
    flag: 'state-dir',
    group: 'Record',
    kind: path,
    default: '/var/lib/edge-health-bridge',
    summary:
      'folder for the records of what each edge holds; an object is recorded before it is sent',
  },
  adoptObjectSyncs: {
    flag: 'adopt-object-syncs',
    group: 'Record',
    kind: boolean,
    default: 'false',
    summary: "use cloudcore's ObjectSyncs for edges that have no record yet",
  },
  writeObjectSyncs: {
    flag: 'write-object-syncs',
    group: 'Record',
    kind: boolean,
    default: 'false',
    summary: 'keep ObjectSyncs as cloudcore would, so that you can return to cloudcore',
  },
  listenAddress: {
    flag: 'listen-address',
    group: 'Listening',
    kind: listenAddress,
    default: '0.0.0.0:10000',
    summary: 'where edges connect by websocket, over TLS with their certificates',
  },
  enrolAddress: {
    flag: 'enrol-address',
    group: 'Listening',
    kind: listenAddress,
    default: '0.0.0.0:10002',
    summary:
      'where edges get their certificates, over TLS with a token or with their previous certificate',
  },
  leaseNamespace: {
    ...leaseNamespaceOption,
    summary:
      'namespace of the Lease that elects the process that serves the edges, and of the ConfigMaps `bridge-record-NODE`',
  },
  leaseName: { ...leaseNameOption, default: 'edge-health-bridge' },
  identity: leaderIdentityOption,
  statusAddress: { ...explainingStatusAddressOption, default: '127.0.0.1:51011' },
  logLevel: logLevelOption,
}

/** In the order of help and reference. */
const groups: Readonly<Record<Group, string>> = {
  Kubernetes: 'How Kubernetes is reached',
  Edges: 'How edges are served',
  Record: 'Where the record of what edges hold is kept',
  Leader: 'Who serves',
  Listening: 'Where we listen',
  Log: 'What is logged',
}

/** The options of the bridge. */
export const bridgeOptionSet: OptionSet = {
  command: 'bridge',
  example: bridgeDefinitions.answerWithinMs.flag,
  groups,
  definitions: inGroups(groups, Object.values(bridgeDefinitions)),
  profiles: {},
  ignored: { ...klogFlags },
}

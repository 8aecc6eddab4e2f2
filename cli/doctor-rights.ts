// SPDX-License-Identifier: Apache-2.0
import { HMAC_CONFIG } from '../agent/stages/node-list/roster-keeper.js'
import { UNIT_CONFIG, ZONE_CONFIG } from '../agent/stages/node-list/zone-config.js'
import type { Right } from './doctor-facts.js'

/** The end of the agents' account name, which is the same in every namespace. */
export const AGENT_ACCOUNT_NAME = ':edge-health-agent'

const NODES = { group: '', resource: 'nodes' }

/** The rights that deploy/base gives the agents; a test compares the two. */
export const rightsOf = (namespace: string, keySecret: string): readonly Right[] => [
  ...['get', 'list', 'watch', 'patch'].map(verb => ({ verb, ...NODES })),
  { verb: 'patch', ...NODES, subresource: 'status' },
  ...[ZONE_CONFIG, UNIT_CONFIG, HMAC_CONFIG].flatMap(name =>
    ['list', 'watch'].map(verb => ({ verb, group: '', resource: 'configmaps', namespace, name })),
  ),
  ...['list', 'watch'].map(verb => ({
    ...{ verb, group: '', resource: 'secrets', namespace, name: keySecret },
  })),
  ...['get', 'patch'].map(verb => ({
    ...{ verb, group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-node-lease' },
  })),
  { verb: 'create', group: 'events.k8s.io', resource: 'events', namespace: 'default' },
]

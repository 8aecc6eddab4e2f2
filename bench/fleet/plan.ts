// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../core/ids.js'
import { ZONE_LABEL } from '../../sandbox/zone-objects.js'
import type { Disk } from './settled-keys.js'

/** The programs of a node that ask the apiserver. */
export const KINDS = ['agent', 'wrapper'] as const
export type Kind = (typeof KINDS)[number]

/** One client of the apiserver, with a token that nobody else has. */
export interface ClientPlan {
  readonly kind: Kind
  readonly node: NodeName
  readonly zone: string
  readonly token: string
  /** An agent's; a wrapper has none. */
  readonly disk: Disk
}

/** What a client-go informer follows. */
export interface Followed {
  readonly group: string
  readonly resource: string
  readonly namespace: string
  readonly labels: string
  readonly fields: string
}

const NAMESPACE = 'edge-system'
const CONFIG_MAPS = ['edge-health-zone-config', 'edge-health-config', 'hmac-config']
const SECRET = 'edge-health-keys'

const followed = (resource: string, more: Partial<Followed> = {}): Followed => ({
  ...{ group: '', resource, namespace: '', labels: '', fields: '' },
  ...more,
})
const named = (name: string): string => `metadata.name=${name}`

/** The same objects as ours ask for, in the way of client-go: each resource whole, by an informer of its own. */
export const followedBy = ({ kind, node, zone }: ClientPlan): readonly Followed[] => {
  const own = followed('nodes', { fields: named(node) })
  const inNamespace = (resource: string, name: string): Followed =>
    followed(resource, { namespace: NAMESPACE, fields: named(name) })
  switch (kind) {
    case 'agent':
      return [
        own,
        followed('nodes', { labels: `${ZONE_LABEL}=${zone}` }),
        ...CONFIG_MAPS.map(name => inNamespace('configmaps', name)),
        inNamespace('secrets', SECRET),
      ]
    case 'wrapper':
      return [
        own,
        followed('services'),
        followed('endpointslices', { group: 'discovery.k8s.io' }),
        followed('servicecidrs', { group: 'networking.k8s.io' }),
      ]
  }
}

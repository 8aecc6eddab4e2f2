// SPDX-License-Identifier: Apache-2.0
import { duration, integer, oneOf, text } from '../../options/kinds.js'
import type { ExchangeOptions } from './agent-options.js'
import type { DefinitionsOf } from './definition.js'

/** How results travel between agents. */
export const exchangeDefinitions: DefinitionsOf<ExchangeOptions> = {
  clusterId: {
    flag: 'cluster-id',
    group: 'Exchange',
    kind: text,
    default: '',
    summary:
      'name of this cluster, so that agents of other clusters are refused even if they share key and zone name',
    relation: 'must be the same on all agents of a zone',
  },
  exchangePeriodMs: {
    flag: 'exchange-period',
    group: 'Exchange',
    kind: duration('100ms', '10m'),
    default: '5s',
    profiles: { fast: '500ms', superedge: '10s' },
    summary: 'each agent does one push-pull with one partner in this period',
    relation: 'at most half of --record-ttl; at least --burst-period',
    aliases: [{ name: 'communicateperiod', seconds: true }],
  },
  ringExchangePeriodMs: {
    flag: 'ring-exchange-period',
    group: 'Exchange',
    kind: duration('100ms', '10m'),
    default: '2s',
    profiles: { fast: '500ms' },
    summary: 'exchange period in a zone of rings, where news has further to go',
    relation: 'at most half of --record-ttl; at least --burst-period',
  },
  meshMax: {
    flag: 'mesh-max',
    group: 'Exchange',
    kind: integer(1, 10_000),
    default: '64',
    profiles: { fast: '16', superedge: '10000' },
    summary:
      'up to this many nodes, each node watches all others; in a larger zone, rings decide who watches whom',
    relation: 'must be the same on all agents of a zone; SuperEdge agents take part in a mesh only',
  },
  ringObservers: {
    flag: 'ring-observers',
    group: 'Exchange',
    kind: integer(3, 32),
    default: '10',
    summary: 'rings: how many nodes each node watches, and about how many watch it',
    relation: 'must be the same on all agents of a zone; matters above --mesh-max nodes',
  },
  burstPeriodMs: {
    flag: 'burst-period',
    group: 'Exchange',
    kind: duration('50ms', '10m'),
    default: '500ms',
    profiles: { fast: '250ms' },
    summary: 'exchange period while a node is contested',
    relation: 'at most --exchange-period',
  },
  burstMs: {
    flag: 'burst-duration',
    group: 'Exchange',
    kind: duration('1s', '10m'),
    default: '15s',
    summary: 'how long --burst-period applies after its last cause',
  },
  exchangeTimeoutMs: {
    flag: 'exchange-timeout',
    group: 'Exchange',
    kind: duration('50ms', '1m'),
    default: '2s',
    profiles: { fast: '1s', superedge: '3s' },
    summary: 'timeout of one round trip with a peer',
    relation: 'below --record-ttl',
    aliases: [
      { name: 'communicatetimetout', seconds: true },
      { name: 'communicatetimeout', seconds: true },
    ],
  },
  pushBatchMs: {
    flag: 'push-batch',
    group: 'Exchange',
    kind: duration('0ms', '5s'),
    default: '50ms',
    profiles: { fast: '20ms' },
    summary: 'a change waits this long, so that further ones can be sent with it',
  },
  partnerBackoffMs: {
    flag: 'partner-backoff',
    group: 'Exchange',
    kind: duration('0ms', '10m'),
    default: '15s',
    profiles: { fast: '5s' },
    summary: 'a partner whose exchange failed is not chosen again for this long',
  },
  identity: {
    flag: 'identity',
    group: 'Exchange',
    kind: oneOf('off', 'prefer', 'require'),
    default: 'prefer',
    summary:
      'off: nodes do not sign with keys of their own; prefer: they sign for members that publish keys; require: they do, and members that do not sign do not count',
    relation: 'require needs --superedge-peers=off',
  },
  linkSlotMs: {
    flag: 'link-slot',
    group: 'Exchange',
    kind: duration('500ms', '8s'),
    default: '1s',
    profiles: { fast: '500ms' },
    summary:
      'time slot that each signed sign of life covers, in steps of 250ms; an agent that passes one on can make it look younger by at most this',
  },
  identityChangeAfterMs: {
    flag: 'identity-change-after',
    group: 'Exchange',
    kind: duration('1s', '1h'),
    default: '2m',
    profiles: { fast: '20s' },
    summary:
      'with --identity=require: how long a node must be silent before new keys that its old ones did not sign, or the removal of its keys, take effect',
    relation: 'at least --record-ttl',
  },
  superedgePeers: {
    flag: 'superedge-peers',
    group: 'Exchange',
    kind: oneOf('off', 'on', 'v0.6', 'v0.9'),
    default: 'off',
    profiles: { superedge: 'on' },
    summary:
      'off: results of SuperEdge agents do not count; on: they count, and each agent is answered in its dialect; v0.6, v0.9: always that dialect',
    relation: 'unless off, a recorded result can be replayed',
  },
  superedgePeriodMs: {
    flag: 'superedge-period',
    group: 'Exchange',
    kind: duration('100ms', '10m'),
    default: '10s',
    profiles: { fast: '5s' },
    summary:
      'how often SuperEdge agents send; they get our results as often, and theirs count for two such periods',
    relation: 'at most half of --record-ttl; v0.9 sends every 60s, whatever its flags say',
    aliases: [{ name: 'communicateperiod', seconds: true }],
  },
  superedgeAttempts: {
    flag: 'superedge-attempts',
    group: 'Exchange',
    kind: integer(1, 10),
    default: '1',
    summary: 'attempts of one PUT to a SuperEdge peer',
    aliases: [{ name: 'communicateretrytime' }],
  },
}

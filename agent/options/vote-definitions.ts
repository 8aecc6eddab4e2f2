// SPDX-License-Identifier: Apache-2.0
import { CUT_TAINT } from '../../core/marks.js'
import { duration, oneOf, optional, share } from '../../options/kinds.js'
import type { PlanOptions } from '../../plan/options.js'
import type { VoteOptions } from '../../vote/options.js'
import type { DefinitionsOf } from './definition.js'
import { taint } from './own-kinds.js'

/** How the vote decides and what it writes. */
export const voteDefinitions: DefinitionsOf<VoteOptions & PlanOptions> = {
  recordTtlMs: {
    flag: 'record-ttl',
    group: 'Vote',
    kind: duration('1s', '1h'),
    default: '60s',
    profiles: { fast: '10s', superedge: '60s' },
    summary: 'a record older than this no longer counts',
    relation: 'at least twice --exchange-period and --superedge-period; above --write-hold',
    aliases: [{ name: 'votetimeout', seconds: true }],
  },
  reaffirmWindowMs: {
    flag: 'reaffirm-window',
    group: 'Vote',
    kind: duration('100ms', '10m'),
    default: '8s',
    profiles: { fast: '3s' },
    summary: 'how long an up vote about a contested node counts before it must be given again',
    relation: 'at least twice --burst-period; at most --record-ttl',
  },
  writeHoldMs: {
    flag: 'write-hold',
    group: 'Vote',
    kind: duration('0ms', '10m'),
    default: '5s',
    profiles: { fast: '1s' },
    summary: 'how long verdict and component quorum must hold before anything is written',
    relation: 'below --record-ttl, or the votes would expire before it ends',
  },
  writerStaggerMs: {
    flag: 'writer-stagger',
    group: 'Vote',
    kind: duration('100ms', '1m'),
    default: '2s',
    profiles: { fast: '1s' },
    summary:
      'a writer waits this long for each silent writer ranked before it, and thirty times as long for one that is still heard',
  },
  brakeShare: {
    flag: 'brake-share',
    group: 'Vote',
    kind: share,
    default: '40%',
    summary: 'largest share of the zone that may be condemned at one time; one node always may',
  },
  witness: {
    flag: 'witness',
    group: 'Vote',
    kind: oneOf('none', 'apiserver', 'target'),
    default: 'apiserver',
    summary: 'who breaks the tie in a zone of two; none abstains',
    relation: 'target needs --witness-target',
  },
  vouch: {
    flag: 'vouch',
    group: 'Vouching',
    kind: oneOf('lease', 'taint', 'off'),
    default: 'lease',
    summary:
      'how a node that is well but cut from the cloud is kept: its Lease is renewed (lease), its unreachable taint is removed (taint), or not at all (off)',
  },
  vouchFreshMs: {
    flag: 'vouch-fresh',
    group: 'Vouching',
    kind: duration('1s', '10m'),
    default: '30s',
    profiles: { fast: '10s' },
    summary: "a vouched node's own record must be younger than this",
    relation: 'at most --record-ttl',
  },
  deadTaint: {
    flag: 'dead-taint',
    group: 'Vote',
    kind: optional(taint),
    default: '',
    summary: 'taint that a condemned node gets, in addition to the annotation',
    relation: 'key and effect must differ from those of --cut-taint',
  },
  cutTaint: {
    flag: 'cut-taint',
    group: 'Vouching',
    kind: optional(taint),
    default: `${CUT_TAINT}:NoSchedule`,
    summary: 'taint that keeps new pods away from a vouched node',
    relation: 'key and effect must differ from those of --dead-taint',
  },
  leaveGraceMs: {
    flag: 'leave-grace',
    group: 'Vote',
    kind: duration('0ms', '10m'),
    default: '30s',
    summary:
      'a node that announced its shutdown is not condemned for this long; it gets another grace only --record-ttl and --write-hold after the last one ended',
  },
}

// SPDX-License-Identifier: Apache-2.0
import type { Unchanged } from './decision.js'
import { whyNotKept, type Knowledge } from './nodes.js'
import type { KeepRules, NodeFacts } from './standing.js'

/** The decision about writes for one node, and the reason. */
export interface NodeExplained {
  readonly name: string
  readonly isKept: boolean
  /** In words. */
  readonly why: string
  /** Null when it is not known. */
  readonly node: NodeFacts | null
  /** Age of the peers' last report in whole seconds; null without a report, or while the time is unknown. */
  readonly reportSeconds: number | null
}

const WORDS: Readonly<Record<Unchanged, string>> = {
  heard: 'the control plane hears it: its Ready is not Unknown',
  marked: 'its peers consider it dead: it is marked nodeunhealth',
  'not-vouched': 'its peers do not vouch for it: PeerHealth is not True CloudLinkCut',
  'report-too-old': "its peers' report is too old, ahead of the apiserver's clock, or undated",
  'no-time': "the apiserver's time is not known yet",
  'not-ours': 'the write is about something else',
  'other-writer': 'the write is not by the controller',
  harmless: 'the write takes nothing away',
  'node-not-known': 'there is no Node of this name',
  'table-not-ready': 'the Nodes are not listed yet, or their watch is broken',
}

const KEPT: Readonly<Record<KeepRules['mode'], string>> = {
  vouched: 'the control plane does not hear it, and its peers vouch for it',
  superedge:
    'the control plane does not hear it, and it is not marked nodeunhealth, or that mark does not count',
}

/** The state of the node with this name. */
export const explainNode = (name: string, knowledge: Knowledge): NodeExplained => {
  const found = knowledge.find(name)
  const node = found.kind === 'known' ? found.node : null
  const why = whyNotKept(name, knowledge)
  const { vouchedAt } = node ?? {}
  const { now } = knowledge
  return {
    ...{ name, node, isKept: why === undefined },
    why: why === undefined ? KEPT[knowledge.rules.mode] : WORDS[why],
    reportSeconds:
      vouchedAt === undefined || now === undefined ? null : Math.round((now - vouchedAt) / 1_000),
  }
}

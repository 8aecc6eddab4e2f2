// SPDX-License-Identifier: Apache-2.0
import type { Unchanged } from './decision.js'
import { judgeNode, type KeepRules, type NodeFacts } from './standing.js'

/** The result of looking up a Node by name. */
export type FoundNode =
  | { readonly kind: 'known'; readonly node: NodeFacts }
  | { readonly kind: 'absent' }
  | { readonly kind: 'table-not-ready' }

/** Looks up a Node in memory, without a request. */
export type FindNode = (name: string) => FoundNode

/** What decisions about Pods and endpoints are based on. */
export interface Knowledge {
  readonly rules: KeepRules
  readonly find: FindNode
  /** Epoch ms by the apiserver's clock, never ahead of it; undefined when unknown. */
  readonly now: number | undefined
}

/** Why the node with this name is not kept; undefined when it is. */
export const whyNotKept = (
  name: string,
  { rules, find, now }: Knowledge,
): Unchanged | undefined => {
  const found = find(name)
  switch (found.kind) {
    case 'absent':
      return 'node-not-known'
    case 'table-not-ready':
      return 'table-not-ready'
    case 'known': {
      const standing = judgeNode(found.node, rules, now)
      return standing.kept ? undefined : standing.why
    }
  }
}

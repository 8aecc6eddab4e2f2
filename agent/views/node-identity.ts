// SPDX-License-Identifier: Apache-2.0
import type { NodeIdentity } from '../http/status-view.js'
import type { IdentityDoubt } from '../results.js'
import { identityText } from '../text/identity-words.js'
import type { NodeScene } from './node-scene.js'

const OF_DOUBT = {
  ...{ wait: 'changed', ask: 'asked', dispute: 'disputed', refuse: 'refused' },
} as const satisfies Record<IdentityDoubt['kind'], NodeIdentity['state']>

/** A member of which the exchange has not heard yet. */
const UNKNOWN = { isSigned: false, signedAt: null, equivocations: 0 }

/** For how long the known keys have been silent, and when others count, as `decidePin` reckons. */
const changeOf = (
  { state, times, options }: NodeScene,
  index: number,
  doubt: IdentityDoubt | undefined,
): Pick<NodeIdentity, 'silentSeconds' | 'changeAfterSeconds'> => {
  if (doubt?.kind !== 'wait') return { silentSeconds: null, changeAfterSeconds: null }
  const heardAt = Math.max(state.table.producedAt[index]!, doubt.startedAt)
  return {
    silentSeconds: times.age(heardAt),
    changeAfterSeconds: options.identityChangeAfterMs / 1_000,
  }
}

/** What this agent makes of a member's keys, or of its own ones; null where it has none that others know. */
export const nodeIdentityOf = (scene: NodeScene, index: number): NodeIdentity | null => {
  const { state, store, times, options, peers } = scene
  const { own, doubts } = store.identities.current
  if (own === undefined) return null
  const { name } = state.roster.members[index]!
  if (index === state.table.self)
    return {
      ...{ state: 'signed', counts: true, signedSeconds: 0 },
      ...{ silentSeconds: null, changeAfterSeconds: null, equivocations: 0 },
    }
  const doubt = doubts?.get(name)
  const { isSigned, signedAt, equivocations } = peers.get(name) ?? UNKNOWN
  return {
    state: doubt === undefined ? (isSigned ? 'signed' : 'unsigned') : OF_DOUBT[doubt.kind],
    counts: times.now - state.table.producedAt[index]! <= options.recordTtlMs,
    signedSeconds: times.age(signedAt ?? -Infinity),
    ...{ ...changeOf(scene, index, doubt), equivocations },
  }
}

/** Why a voter does not count because of its keys; undefined where the reason is another one. */
export const unprovedOf = (scene: NodeScene, index: number): string | undefined => {
  const identity = nodeIdentityOf(scene, index)
  if (identity === null || identity.counts || identity.state === 'signed') return undefined
  const isRequired = scene.options.identity === 'require'
  if (identity.state === 'unsigned' && !isRequired) return undefined
  return identityText({ ...identity, counts: true }, { fingerprint: null, isRequired })
}

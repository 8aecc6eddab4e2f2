// SPDX-License-Identifier: Apache-2.0

/** What must never happen, in words; each is looked at as often as there was an occasion for it. */
export const GUARDS = {
  'sound-marked': 'no live, Ready node that a majority reaches is marked',
  braked: 'no more nodes are marked than the brake allows',
  minority: 'who has no majority writes nothing',
  leaver: 'who left the zone writes about nobody',
  foreign: 'nobody marks a node of another zone',
  'dead-cleared': 'the mark of a dead node stays',
  unconfirmed: 'marks are taken off by a majority only',
  'mark-stays':
    'no mark stays on a live, Ready node that a majority, or the witness of two, reaches',
  'lease-back': 'the renewTime of a Lease never goes back',
  'lease-ahead': "no renewTime is written that lies beyond the apiserver's clock",
  'lease-of-dead': 'the Lease of a dead node is not renewed',
  pulse: 'the control plane sees the heartbeat of a node whose link is open',
  'not-cut': 'no node is called cut off whose kubelet renews its Lease',
  patient: 'an apiserver that refuses is asked seldom',
  timeless: 'nothing that proves something for ever is sent unless an operator asked for it',
  late: 'nothing is taken in that was under way for seconds',
  heard: 'what a member says to a member that it reaches is taken in',
  found: 'an agent listens where its Node says that it is, or its readiness says that it does not',
  forgiven: 'who was cut off itself does not hold that against its peers',
  view: 'a node that everybody reaches is up in every local view',
  stream: 'the stream of changes tells what the document says',
  forgets: 'of a node that left and came back nothing is shown from before',
  damped: 'a flapping cloud link is damped',
  'dead-marked': 'a dead node is marked within its bound',
  'well-again': 'after its return nobody is marked or called down',
} as const
export type Guard = keyof typeof GUARDS

/** A guard that saw what must never happen. */
export interface Breach {
  readonly guard: Guard
  readonly at: number
  readonly what: string
}

/** An occasion for a guard; `what` is undefined when all was well. */
export type Note = (guard: Guard, what: string | undefined) => void

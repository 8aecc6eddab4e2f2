// SPDX-License-Identifier: Apache-2.0

/** What a zone says about one of its nodes, by code. `undecided` changes nothing. */
export const VERDICTS = ['undecided', 'healthy', 'unhealthy'] as const
export type Verdict = (typeof VERDICTS)[number]

/** A verdict as a number, for columns. */
export const VERDICT = { undecided: 0, healthy: 1, unhealthy: 2 } as const satisfies Readonly<
  Record<Verdict, number>
>
export type VerdictCode = (typeof VERDICT)[Verdict]

/**
 * The smallest number that is more than half of `voters`. Two quorums of one zone always share a voter, so that two
 * separated groups cannot both decide. Without voters the quorum is 1, which is never reached.
 */
export const quorumOf = (voters: number): number => Math.floor(voters / 2) + 1

/** Decide by strict majority. Voters who have not spoken count toward the quorum: silence is not consent. */
export const decide = (voters: number, up: number, down: number): VerdictCode => {
  const quorum = quorumOf(voters)
  if (up >= quorum) return VERDICT.healthy
  if (down >= quorum) return VERDICT.unhealthy
  return VERDICT.undecided
}

/**
 * Decide where only a few members watch a node: the larger side wins if it has at least two votes. The component quorum
 * (majority.ts) keeps a minority of the zone from acting on this.
 */
export const decideAmongFew = (up: number, down: number): VerdictCode => {
  if (up > down && up >= 2) return VERDICT.healthy
  if (down > up && down >= 2) return VERDICT.unhealthy
  return VERDICT.undecided
}

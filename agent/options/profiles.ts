// SPDX-License-Identifier: Apache-2.0

/** Named sets of values; single options override them. Each option's definition holds its values. */
export const PROFILES = {
  default: 'a dead node is seen within 8 s and written within 14 s, for little traffic',
  fast: 'seen within 2.1 s and written within 3.6 s, for ten times the probes; for links that lose less than 10 %',
  superedge:
    "SuperEdge's periods (10 s / 10 s / 10 s, votes count for 60 s), for zones that mix both agents",
} as const

export type ProfileName = keyof typeof PROFILES

export const profileNames = Object.keys(PROFILES) as readonly ProfileName[]

// SPDX-License-Identifier: Apache-2.0

/** How the feed is doing. */
export interface FeedStatus {
  /** `waiting`: no agent has answered yet. */
  readonly state: 'off' | 'waiting' | 'fresh' | 'last-known' | 'expired'
  readonly source: 'none' | 'push' | 'poll'
  /** Since the agent's last word; undefined before the first. */
  readonly ageMs: number | undefined
  readonly nodes: number
  readonly dead: readonly string[]
  readonly connects: number
  /** Why there is no connection now; undefined when there is one. */
  readonly trouble: string | undefined
}

/** The health of nodes as the local agent sees it. */
export interface HealthFeed {
  of(name: string): 'normal' | 'dead' | 'unknown'
  /** False when the last word is older than the limit: then it must take nothing from anybody. */
  readonly isFresh: boolean
  readonly status: FeedStatus
  start(): void
  stop(): Promise<void>
}

const OFF: FeedStatus = {
  ...{ state: 'off', source: 'none', ageMs: undefined, nodes: 0, dead: [], connects: 0 },
  trouble: undefined,
}

/** Nothing is known of anybody: topology alone decides. */
export const noHealth: HealthFeed = {
  of: () => 'unknown',
  isFresh: false,
  status: OFF,
  start: () => undefined,
  stop: () => Promise.resolve(),
}

// SPDX-License-Identifier: Apache-2.0

/** The status of the feed. */
export interface FeedStatus {
  /** `waiting`: no agent has answered yet. */
  readonly state: 'off' | 'waiting' | 'fresh' | 'last-known' | 'expired'
  readonly source: 'none' | 'push' | 'poll'
  /** Time since the agent's last report; undefined before the first. */
  readonly ageMs: number | undefined
  readonly nodes: number
  readonly dead: readonly string[]
  readonly connects: number
  /** Why there is no connection; undefined when there is one. */
  readonly trouble: string | undefined
}

/** The health of nodes as the local agent sees it. */
export interface HealthFeed {
  of(name: string): 'normal' | 'dead' | 'unknown'
  /** False when the last report is older than the limit: then no endpoint may be left out for health. */
  readonly isFresh: boolean
  readonly status: FeedStatus
  start(): void
  stop(): Promise<void>
}

const OFF: FeedStatus = {
  ...{ state: 'off', source: 'none', ageMs: undefined, nodes: 0, dead: [], connects: 0 },
  trouble: undefined,
}

/** A feed that knows nothing: topology alone decides. */
export const noHealth: HealthFeed = {
  of: () => 'unknown',
  isFresh: false,
  status: OFF,
  start: () => undefined,
  stop: () => Promise.resolve(),
}

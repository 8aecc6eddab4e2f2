// SPDX-License-Identifier: Apache-2.0
import type { StageStatus } from '../../core/stage.js'

/** One step of an agent's work. Stages meet in the result store: none imports another. */
export interface Stage {
  start(): Promise<void>
  /** This agent was suspended: what it knows is from before, and nothing of it may be acted upon. */
  resumed(): void
  /** Resolves when nothing of it runs. May be called twice. */
  stop(): Promise<void>
}

/** A stage that `/status` shows. */
export interface ShownStage extends Stage {
  readonly status: StageStatus
}

/** A stage that a schedule drives; the others have timers of their own, or follow the vote. */
export interface ScheduledStage extends ShownStage {
  /** One round. Never rejects: a failure is the stage's status. */
  round(): Promise<void>
}

// SPDX-License-Identifier: Apache-2.0
// Steps that several scenes have.
import { UNHEALTHY_ANNOTATION } from '../../core/marks.js'
import { allSayUp, isAnnotated, isClean, othersSay } from './snapshot.js'
import type { Limits, Stage, Step } from './stage.js'
import { becomes, stays } from './steps.js'

export const start = (limits: Limits): number => limits.startMs
export const seen = (limits: Limits): number => limits.seenMs
export const written = (limits: Limits): number => limits.writtenMs

/** Exactly one agent wrote to the node, exactly once, and that was the annotation. */
export const isOneWrite = (stage: Stage, name: string): boolean =>
  stage.writes().filter(write => write.node === name).length === 1 && stage.flips(name) === 1

export const seenDead = (name: string): Step =>
  becomes(`every other /localinfo shows ${name} down`, seen, ({ snapshot }) =>
    othersSay(snapshot, name, false),
  )
export const annotated = (name: string): Step =>
  becomes(`${name} is annotated ${UNHEALTHY_ANNOTATION}=yes`, written, ({ snapshot }) =>
    isAnnotated(snapshot, name),
  )
export const writtenOnce = (name: string): Step =>
  stays(
    'it was written once, by one writer',
    ({ snapshot, stage }) => isAnnotated(snapshot, name) && isOneWrite(stage, name),
  )
export const seenAlive = (limitMs: (limits: Limits) => number): Step =>
  becomes('every /localinfo shows every node up', limitMs, ({ snapshot }) => allSayUp(snapshot))
export const cleared = (name: string): Step =>
  becomes(
    `the annotation of ${name} is gone`,
    written,
    ({ snapshot }) => !isAnnotated(snapshot, name),
  )
export const clean = (name: string): Step =>
  becomes(
    `${name} is Ready and carries no taint`,
    limits => limits.graceMs + limits.writtenMs,
    ({ snapshot }) => isClean(snapshot, name),
  )

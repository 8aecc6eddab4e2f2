// SPDX-License-Identifier: Apache-2.0
import type { Stage } from './stage.js'

export interface Notes {
  readonly note: (text: string) => void
  readonly check: (claim: string, isTrue: boolean) => void
}

export interface AdmissionCell {
  readonly name: string
  readonly shows: string
  /** It needs MutatingAdmissionPolicies, which Kubernetes serves from 1.36 on. */
  readonly needsPolicies?: true
  readonly play: (stage: Stage, notes: Notes) => Promise<void>
}

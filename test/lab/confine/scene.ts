// SPDX-License-Identifier: Apache-2.0
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import type { Bed } from './bed.js'
import type { Table } from './table.js'

/** What the plays with real tokens share. */
export interface Scene {
  readonly plane: ControlPlane
  readonly bed: Bed
  readonly table: Table
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

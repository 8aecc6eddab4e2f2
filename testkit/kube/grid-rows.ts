// SPDX-License-Identifier: Apache-2.0
// What was done to SuperEdge's controller on Kubernetes 1.36, what came of it, and what comes of it here: rows are played
// on the embedded API and on a real one.
import type { GridRow } from './grid-row.js'
import type { GridStage } from './grid-stage.js'
import { serviceRows } from './service-grid-rows.js'
import { apiserverRows, workloadRows } from './workload-grid-rows.js'

/** Each row, by where it stands. */
export const gridRows: readonly (readonly [section: string, row: GridRow])[] = [
  ...serviceRows.map(row => ['ServiceGrid', row] as const),
  ...workloadRows.map(row => ['DeploymentGrid, StatefulSetGrid', row] as const),
]

/** The same, for a real apiserver. */
export const allGridRows: typeof gridRows = [
  ...gridRows,
  ...apiserverRows.map(row => ['DeploymentGrid, StatefulSetGrid', row] as const),
]

/** Play one row on a server. @returns how it differs from what is claimed */
export const playGridRow = async (
  stage: GridStage,
  { play }: GridRow,
): Promise<readonly string[]> => {
  try {
    await stage.open()
    await play(stage)
  } catch (error) {
    stage.differences.push(`broke off: ${error instanceof Error ? error.stack : String(error)}`)
  } finally {
    await stage.close()
  }
  return stage.differences
}

// SPDX-License-Identifier: Apache-2.0
// What becomes of a node that the control plane does not hear, by what is installed: the rows of docs/admission.md.
import { reasonOf } from '../../../core/errors.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import type { AdmissionCell } from './cell.js'
import { chooseAdmissionCells } from './cells.js'
import { Stage } from './stage.js'

interface Parts {
  readonly plane: ControlPlane
  readonly script: string
  readonly say: (line: string) => void
  /** Names of cells; none plays all. */
  readonly cells: readonly string[]
}

const play = async (stage: Stage, cell: AdmissionCell, say: Parts['say']): Promise<number> => {
  const { name, shows } = cell
  say(`\n${name}: ${shows}`)
  let failed = 0
  try {
    await cell.play(stage, {
      note: text => say(`  ${text}`),
      check: (claim, isTrue) => {
        say(`  ${isTrue ? 'ok    ' : 'not ok'} ${claim}`)
        if (!isTrue) failed++
      },
    })
  } catch (error) {
    say(`  not ok ${reasonOf(error)}`)
    failed++
  }
  await stage.replicas.stop()
  await stage.unregister()
  return failed
}

/** @returns whether every claim held */
export const runAdmission = async (
  { plane, script, say, cells }: Parts,
  signal: AbortSignal,
): Promise<boolean> => {
  const stage = new Stage(plane, script, signal)
  const chosen: AdmissionCell[] = []
  let failed = 0
  try {
    await stage.open()
    const hasPolicies = await stage.hasPolicies()
    for (const cell of chooseAdmissionCells(cells))
      if (hasPolicies || cell.needsPolicies === undefined) chosen.push(cell)
      else say(`${cell.name}: not played, this Kubernetes has no MutatingAdmissionPolicies`)
    for (const cell of chosen) failed += (await play(stage, cell, say)) > 0 ? 1 : 0
  } finally {
    await stage.close()
  }
  say(`${chosen.length - failed} passed, ${failed} failed`)
  return failed === 0
}

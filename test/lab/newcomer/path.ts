// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'

/** What the page types, beside helm. */
export interface Programs {
  /** Of the control plane. */
  readonly kubectl: string
  /** The bundle; the plugin of kubectl is beside it. */
  readonly script: string
}

/** Where the commands of the page are found, as on the machine of somebody who installed them. */
export const makePath = (
  plane: ControlPlane,
  { kubectl, script }: Programs,
  helm: string,
): string => {
  const bin = join(plane.dir, 'bin')
  mkdirSync(bin)
  const links = {
    ...{ kubectl, helm, 'edge-health': script },
    'kubectl-edge_health': join(dirname(script), 'kubectl-edge_health.cjs'),
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(bin, name))
  return [bin, dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter)
}

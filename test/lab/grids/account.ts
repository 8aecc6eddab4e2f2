// SPDX-License-Identifier: Apache-2.0
// The account of the controller of grids, as it is shipped.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { kubeconfig } from '../../../testkit/control-plane/kubeconfig.js'

const FOLDER = 'deploy/components/grids'

/** Its rights and what confines it, in a namespace that is there. @returns a token of it */
export const installAccount = async (plane: ControlPlane): Promise<string> => {
  for (const file of ['rbac.yaml', 'policies.yaml'])
    await plane.kubectl(['apply', '-f', `${FOLDER}/${file}`])
  const token = await plane.kubectl(['-n', 'edge-system', 'create', 'token', 'edge-health-grids'])
  return token.trim()
}

/** Where its kubeconfig is. */
export const accountPath = ({ dir }: ControlPlane): string => join(dir, 'grids.kubeconfig')

/** The same, with a kubeconfig. @returns its path */
export const accountFile = async (plane: ControlPlane): Promise<string> => {
  const file = accountPath(plane)
  const token = await installAccount(plane)
  writeFileSync(file, kubeconfig(plane.url, plane.ca, { token }), { mode: 0o600 })
  return file
}

// SPDX-License-Identifier: Apache-2.0
import { dirname, join } from 'node:path'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { command } from '../shell.js'

/** Run lines of the documentation as an operator would, in a folder; but nobody waits a minute for a node that is cut off. */
export const runLines = (plane: ControlPlane, folder: string, lines: string): Promise<string> => {
  const path = [dirname(plane.binaries.kubectl), '/usr/bin', '/bin'].join(':')
  return command('env', [
    ...['-C', folder, '-i', `PATH=${path}`, `HOME=${plane.dir}`],
    `KUBECONFIG=${join(plane.dir, 'kubeconfig')}`,
    ...['sh', '-c', lines.replaceAll('--timeout=60s', '--timeout=5s')],
  ])
}

// SPDX-License-Identifier: Apache-2.0
// Whether the names of our objects keep them apart from SuperEdge's, and the move from those of earlier versions.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { runBeside } from './beside.js'
import { Claims } from './claims.js'
import { runMove } from './move.js'
import { runSideBySide } from './side-by-side.js'
import { FakeNodes } from './fake-nodes.js'

/** @returns whether all of it holds. */
export const runNames = async (
  plane: ControlPlane,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<boolean> => {
  const claims = new Claims(say)
  await runSideBySide(plane, claims)
  plane.runControllers(['daemonset-controller', 'garbage-collector-controller'])
  const cluster = new FakeNodes(plane.admin, signal)
  await cluster.createNodes()
  const playing = cluster.run()
  try {
    await runMove({ plane, cluster, claims, signal })
    await runBeside({ plane, cluster, claims, signal })
  } finally {
    cluster.stop()
    await playing
  }
  say(`${claims.passed} passed, ${claims.failed} failed`)
  return claims.failed === 0
}

/** Write what was said as a page of the docs. */
export const writeNamesLog = (folder: string, lines: readonly string[]): void => {
  const page = `# What a move from SuperEdge showed

<!-- Made by npm run lab -- names --report docs, on a real apiserver. -->

The lines of [Moving from SuperEdge](migrate-superedge.md) and of [Names of earlier versions](operations.md#names-of-earlier-versions), carried out
one after the other, and what held after each. Objects with SuperEdge's names, roles and labels were there first.

\`\`\`text
${lines.join('\n')}
\`\`\`
`
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'migrate-superedge-log.md'), page)
}

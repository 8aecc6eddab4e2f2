// SPDX-License-Identifier: Apache-2.0
// The lines of docs/earlier-names.md that move the agents from the names of earlier versions, run by a shell against a real
// apiserver and the real controllers of DaemonSets and of what is left behind.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readManifests } from '../../../testkit/deploy/manifests.js'
import { earlierObjects, moveScripts } from '../../../testkit/deploy/move.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import type { Claims } from './claims.js'
import { writeKustomization } from './installed.js'
import { runLines } from './shell.js'
import { agentsOn, CUT, NODES, type FakeNodes } from './fake-nodes.js'

const OLD = 'app.kubernetes.io/name=edge-health'
const KINDS =
  'daemonset,pod,controllerrevision,serviceaccount,role,rolebinding,clusterrole,clusterrolebinding'

export interface MoveParts {
  readonly plane: ControlPlane
  readonly cluster: FakeNodes
  readonly claims: Claims
  readonly signal: AbortSignal
}

/** Ends with the base applied and its agents on all nodes. */
export const runMove = async ({ plane, cluster, claims, signal }: MoveParts): Promise<void> => {
  const dir = join(plane.dir, 'move')
  writeKustomization(dir, [], 'my')
  const [move = '', remove = ''] = moveScripts(readFileSync('docs/earlier-names.md', 'utf8'))
  const [variables = ''] = move.split('\n')
  const agents = () => cluster.agents()
  const old = agentsOn(NODES, 'edge-health')
  const moved = agentsOn(NODES, 'edge-health-agent')

  const items = earlierObjects(readManifests('deploy/base'))
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await plane.kubectl(['apply', '-f', '-'], list)
  await plane.kubectl(['apply', '-f', 'deploy/components/zones/zones.yaml'])
  await claims.becomes('agents of the earlier name run on all nodes', agents, old, signal)

  cluster.cut(CUT)
  cluster.count()
  await runLines(plane, dir, move)
  const butCut = { ...moved, [CUT]: ['!edge-health'] }
  await claims.becomes('all nodes but the cut one have new agents', agents, butCut, signal)
  cluster.heal(CUT)
  await claims.becomes('the cut one’s follows when its link is back', agents, moved, signal)
  claims.equal('one node at a time was without an agent', cluster.mostWithout, 1)

  const uids = cluster.uids(NODES)
  await runLines(plane, dir, move)
  await runLines(plane, dir, `${variables}\n${remove}`)
  const left = await plane.kubectl(['get', KINDS, '-A', '-l', OLD, '-o', 'name'])
  claims.equal('no object of the earlier names is left', left, '')
  const kept = ['namespace/edge-system', 'configmap/edge-health-zone-config']
  const found = await plane.kubectl(['-n', 'edge-system', 'get', ...kept, '-o', 'name'])
  claims.equal('namespace and ConfigMap stay', found.trim().split('\n'), kept)
  claims.equal('the lines run again, and the rest removed: the same Pods', cluster.uids(NODES), uids) // prettier-ignore
}

// SPDX-License-Identifier: Apache-2.0
// SuperEdge's agents and ours on the nodes of one cluster, as docs/operations.md says for the time of the move: a node
// has one of the two, moves alone, and either DaemonSet can go without the other.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { shellBlocks } from '../../../testkit/deploy/move.js'
import { Installed, writeKustomization } from './installed.js'
import type { MoveParts } from './move.js'
import { runLines } from './shell.js'
import { agentsOn, NODES } from './stand-ins.js'

const [FIRST, ...OTHERS] = NODES

/** Starts with the base applied. */
export const runBeside = async ({ plane, cluster, claims, signal }: MoveParts): Promise<void> => {
  const dir = join(plane.dir, 'beside')
  const install = (name: string, components: readonly string[]): Installed =>
    new Installed(plane, ['-k', writeKustomization(dir, components, name)], 'edge-health-agent')
  const superedge = new Installed(
    plane,
    ['-f', 'testkit/deploy/superedge-objects.yaml'],
    'edge-health',
  )
  const operations = readFileSync('docs/operations.md', 'utf8')
  const [prepare = ''] = shellBlocks(operations, '## Moving from SuperEdge')
  const agents = () => cluster.agents()
  const label = (value: string): Promise<string> =>
    plane.kubectl(['label', 'node', FIRST, `edge-health/moved${value}`])
  const theirs = agentsOn(NODES, 'edge-health')
  const ours = agentsOn(NODES, 'edge-health-agent')

  await install('base', []).delete()
  await plane.kubectl(['delete', '-f', 'deploy/components/zones/zones.yaml'])
  await superedge.apply()
  await claims.becomes('SuperEdge’s agents run on all nodes', agents, theirs, signal)
  const before = cluster.uids(NODES)
  const mine = install('my', ['beside-superedge'])
  await mine.apply()
  await runLines(plane, dir, prepare)
  // Nothing tells when the controller has seen both; a Pod that it restarted would have another uid below.
  const mixed = { ...theirs, [FIRST]: ['edge-health-agent'] }
  await label('=yes')
  await claims.becomes('the node with the label has ours, the others theirs', agents, mixed, signal)
  claims.equal('the others’ Pods are the same', cluster.uids(OTHERS), before.slice(1))
  await label('-')
  await claims.becomes('without the label it has theirs again', agents, theirs, signal)
  await label('=yes')
  await claims.becomes('and ours with it', agents, mixed, signal)

  const [own] = cluster.uids([FIRST])
  await superedge.delete()
  const alone = { ...agentsOn([FIRST], 'edge-health-agent') }
  await claims.becomes('SuperEdge’s are deleted: ours stay', agents, alone, signal)
  claims.equal('the Pod with SuperEdge’s label is the same', cluster.uids([FIRST]), [own])
  await superedge.apply()
  await runLines(plane, dir, prepare)
  await claims.becomes('SuperEdge’s are back', agents, mixed, signal)
  const others = cluster.uids(OTHERS)
  await mine.delete()
  const left = { ...theirs, [FIRST]: [] }
  await claims.becomes('ours are deleted: SuperEdge’s stay', agents, left, signal)
  claims.equal('their Pods are the same', cluster.uids(OTHERS), others)

  await mine.apply()
  await plane.kubectl(['label', 'nodes', '--all', '--overwrite', 'edge-health/moved=yes'])
  await claims.becomes('all nodes have the label: ours run on all', agents, ours, signal)
}

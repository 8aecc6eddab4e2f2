// SPDX-License-Identifier: Apache-2.0
// SuperEdge's agents and ours on the nodes of one cluster, as docs/migrate-superedge.md says for the time of the move: a node
// has one of the two, moves alone, and either DaemonSet can go without the other.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { shellBlocks } from '../../../testkit/deploy/move.js'
import { Installed, writeKustomization } from './installed.js'
import type { MoveParts } from './move.js'
import { runLines } from './shell.js'
import { agentsOn, NODES } from './fake-nodes.js'

const [FIRST, ...OTHERS] = NODES

/** SuperEdge's agent, its account and rights, and its key. */
const leftOf = (plane: ControlPlane): Promise<string> =>
  plane.kubectl([
    ...['-n', 'edge-system', 'get', '--ignore-not-found', '-o', 'name', 'daemonset/edge-health'],
    ...['serviceaccount/edge-health', 'configmap/hmac-config', 'clusterrole/edge-health'],
  ])

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
  const page = readFileSync('docs/migrate-superedge.md', 'utf8')
  const [, prepare = ''] = shellBlocks(page, '## 1. Prepare')
  const [moveZone = '', back = ''] = shellBlocks(page, '## 2. Move a zone')
  const [makeSecret = '', remove = ''] = shellBlocks(page, '## 3. Finish')
  const inZone = (lines: string): string => lines.replaceAll('ZONE', 'shop')
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
  await plane.kubectl(['label', 'node', FIRST, 'edge-health/moved-'])
  await claims.becomes('all nodes are SuperEdge’s again', agents, theirs, signal)
  const configMaps = (): Promise<string> =>
    plane.kubectl(['-n', 'edge-system', 'get', 'configmap', '-o', 'jsonpath={.items[*].data}'])
  const config = await configMaps()
  await plane.kubectl(['label', 'nodes', ...NODES, 'superedgehealth/topology-zone=shop'])
  const labels = (): Promise<string> =>
    plane.kubectl(['get', 'nodes', '-l', 'superedgehealth/topology-zone=shop', '-o', 'name'])
  const zone = await labels()
  await runLines(plane, dir, inZone(moveZone))
  await claims.becomes('the lines move a zone, node by node', agents, ours, signal)
  await runLines(plane, dir, inZone(back))
  await claims.becomes('and take it back', agents, theirs, signal)
  await runLines(plane, dir, inZone(moveZone))
  await claims.becomes('and move it again', agents, ours, signal)
  claims.equal('its labels are the same', await labels(), zone)
  claims.equal('ConfigMaps are the same', await configMaps(), config)
  await runLines(plane, dir, makeSecret)
  await install('after', []).apply()
  await claims.becomes('without the component ours run on all', agents, ours, signal)
  await runLines(plane, dir, remove)
  await claims.becomes('without SuperEdge and the label too', agents, ours, signal)
  claims.equal('of SuperEdge’s agent nothing is left', await leftOf(plane), '')
}

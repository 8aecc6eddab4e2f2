// SPDX-License-Identifier: Apache-2.0
import { relative } from 'node:path'
import process from 'node:process'
import type { Zone } from '../zone.js'
import { HEALTHZ_PORT, SECURE_PORT } from '../zone-node.js'

/** The command line that is running now, as the user can type it. */
const commandOf = (script: string): string => {
  const near = relative(process.cwd(), script)
  return `node ${near.startsWith('..') ? script : near}`
}

/** What to try while the zone stays up. */
export const hints = async (zone: Zone, script: string): Promise<readonly string[]> => {
  const path = await zone.writeKubeconfig()
  const node = zone.nodes.find(({ state }) => state === 'running') ?? zone.nodes[0]!
  const dead = zone.nodes.find(({ state }) => state === 'killed')
  const { address } = node.identity
  const command = commandOf(script)
  return [
    'The zone stays up. Try:',
    `  ${node.localUrl}/    (a page for a browser)`,
    `  curl ${node.localUrl}/localinfo    (and /status, /metrics, /healthz, /readyz)`,
    `  ${command} status --agent ${node.localUrl}`,
    `  ${command} explain ${(dead ?? zone.nodes.at(-1)!).name} --agent ${node.localUrl}`,
    `  curl http://${address}:${HEALTHZ_PORT}/healthz; curl -k https://${address}:${SECURE_PORT}/healthz`,
    `  curl -X POST http://${address}:${HEALTHZ_PORT}/sandbox/sick    (and /sandbox/well)`,
    `  kubectl --kubeconfig ${path} get nodes`,
    `  kubectl --kubeconfig ${path} describe node ${node.name}`,
    `  kubectl --kubeconfig ${path} get events -A`,
    ...zone.nodes
      .filter(({ state }) => state === 'running')
      .slice(-1)
      .map(last => `  kill -STOP ${last.pids.join(' ')}    (and -CONT: ${last.name})`),
    'Ctrl-C ends it.',
  ]
}

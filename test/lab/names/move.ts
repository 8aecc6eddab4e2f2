// SPDX-License-Identifier: Apache-2.0
// The lines of docs/operations.md that move the agents from the names of earlier versions, run by a shell against a real
// apiserver and the real controllers of DaemonSets and of what is left behind.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sleep, systemClock } from '../../../core/clock.js'
import { readManifests } from '../../support/manifests.js'
import { earlierObjects, moveScripts } from '../../support/move.js'
import type { ControlPlane } from '../control-plane/control-plane.js'
import { command } from '../shell.js'
import type { Claims } from './claims.js'
import { writeKustomization } from './installed.js'
import { StandIns } from './stand-ins.js'

const NODES = ['n-1', 'n-2', 'n-3', 'n-4'] as const
/** Its link to the cloud is cut meanwhile. */
const CUT = 'n-3'
const PATIENCE_MS = 60_000
const OLD = 'app.kubernetes.io/name=edge-health'
const KINDS =
  'daemonset,pod,controllerrevision,serviceaccount,role,rolebinding,clusterrole,clusterrolebinding'

const nodesWith = (app: string, nodes: readonly string[]) =>
  Object.fromEntries(NODES.map(node => [node, nodes.includes(node) ? [app] : []]))

class Move {
  readonly #plane: ControlPlane
  readonly #claims: Claims
  readonly #signal: AbortSignal
  readonly #cluster: StandIns
  readonly #dir: string

  constructor(plane: ControlPlane, claims: Claims, signal: AbortSignal) {
    this.#plane = plane
    this.#claims = claims
    this.#signal = signal
    this.#cluster = new StandIns(plane.admin, NODES, signal)
    this.#dir = join(plane.dir, 'move')
  }

  async run(): Promise<void> {
    const [move = '', remove = ''] = moveScripts(readFileSync('docs/operations.md', 'utf8'))
    const [variables = ''] = move.split('\n')
    await this.#cluster.createNodes()
    const playing = this.#cluster.run()
    try {
      await this.#installEarlier()
      this.#cluster.cut(CUT)
      this.#cluster.count()
      await this.#shell(move)
      const others = NODES.filter(node => node !== CUT)
      const moved = { ...nodesWith('edge-health-agent', others), [CUT]: ['!edge-health'] }
      this.#claims.equal('the agents of all nodes but the cut one are new', this.#agents(), moved)
      this.#cluster.heal(CUT)
      await this.#becomes(
        'the cut node’s agent follows when its link is back',
        nodesWith('edge-health-agent', NODES),
      )
      const { mostWithout } = this.#cluster
      this.#claims.equal('one node at a time was without an agent', mostWithout, 1)
      await this.#shell(move)
      this.#claims.equal('run again, it changes nothing', this.#agents(), nodesWith('edge-health-agent', NODES)) // prettier-ignore
      await this.#shell(`${variables}\n${remove}`)
      const left = await this.#plane.kubectl(['get', KINDS, '-A', '-l', OLD, '-o', 'name'])
      this.#claims.equal('no object of the earlier names is left', left, '')
      const kept = ['namespace/edge-system', 'configmap/edge-health-zone-config']
      const found = await this.#plane.kubectl(['-n', 'edge-system', 'get', ...kept, '-o', 'name'])
      this.#claims.equal('namespace and ConfigMap stay', found.trim().split('\n'), kept)
      await this.#becomes('the new agents stay', nodesWith('edge-health-agent', NODES))
    } finally {
      this.#cluster.stop()
      await playing
    }
  }

  async #installEarlier(): Promise<void> {
    const objects = earlierObjects(readManifests('deploy/base'))
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
    await this.#plane.kubectl(['apply', '-f', '-'], list)
    await this.#plane.kubectl(['apply', '-f', 'deploy/components/zones/zones.yaml'])
    await this.#becomes(
      'agents of the earlier name run on all nodes',
      nodesWith('edge-health', NODES),
    )
  }

  /** Node → agents, without the wrapper's Pods. */
  #agents(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries(
      Object.entries(this.#cluster.running()).map(([node, names]) => [
        node,
        names.filter(name => name !== 'edge-health-wrapper'),
      ]),
    )
  }

  async #becomes(what: string, wanted: Readonly<Record<string, readonly string[]>>): Promise<void> {
    const until = performance.now() + PATIENCE_MS
    const isSo = (): boolean => JSON.stringify(this.#agents()) === JSON.stringify(wanted)
    while (!isSo() && performance.now() < until) await sleep(systemClock, 200, this.#signal)
    this.#claims.equal(what, this.#agents(), wanted)
  }

  /** As an operator would, beside a kustomization of their own; but nobody waits a minute for the cut node. */
  async #shell(script: string): Promise<void> {
    writeKustomization(this.#dir, [])
    const text = script.replaceAll('--timeout=60s', '--timeout=5s')
    const path = [dirname(this.#plane.binaries.kubectl), '/usr/bin', '/bin'].join(':')
    await command('env', [
      ...['-C', this.#dir, '-i', `PATH=${path}`, `HOME=${this.#plane.dir}`],
      `KUBECONFIG=${join(this.#plane.dir, 'kubeconfig')}`,
      ...['sh', '-c', text.replace('apply -k my', 'apply -k base')],
    ])
  }
}

export const runMove = (plane: ControlPlane, claims: Claims, signal: AbortSignal): Promise<void> =>
  new Move(plane, claims, signal).run()

// SPDX-License-Identifier: Apache-2.0
// Our agents and SuperEdge's in one zone, under a real control plane: both see who dies, each node is marked once, and
// nobody who lives is marked. SuperEdge's periods are fixed at 10 s (check, vote) and 60 s (exchange).
import { sleep, systemClock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import { CLOUD_HUB } from './places.js'
import { kubeconfig } from '../../testkit/control-plane/kubeconfig.js'
import { API_PORT } from '../../testkit/control-plane/flags.js'
import type { Lab } from './lab.js'
import type { LabNode } from './lab-node.js'
import { agentPod } from '../../testkit/deploy/agent-pod.js'
import { FairTime } from './slowness.js'

/** What docs/operations.md says for the time in which a zone holds both. */
const MIXED = ['--profile=superedge', '--superedge-period=60s', '--record-ttl=120s']
/** Two of their exchanges, a check and a vote. */
const LIMIT_MS = 150_000
/** Theirs are the last so many of the zone. */
const THEIRS = 2

export interface SuperEdgeParts {
  /** The program. */
  readonly agent: string
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/** SuperEdge's agents find each other, and the key, by this label. */
const LABEL = 'name=edge-health'
const SYSTEM = ['-n', 'edge-system']

const isMarked = (lab: Lab, name: string): boolean =>
  lab.observer.nodes.get(name)?.metadata.annotations?.['nodeunhealth'] === 'yes'

/** What one of theirs says of an address: true for up, false for down. */
const theirWord = async (by: LabNode, about: LabNode): Promise<boolean | undefined> => {
  try {
    const url = `${by.localUrl}/localinfo`
    const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    const rows = (await answer.json()) as Record<string, { normal?: boolean } | undefined>
    const row = rows[about.address]
    return row === undefined ? undefined : row.normal === true
  } catch {
    return undefined
  }
}

class MixedZone {
  readonly #lab: Lab
  readonly #parts: SuperEdgeParts
  readonly #ours: readonly LabNode[]
  readonly #theirs: readonly LabNode[]
  #failed = 0
  #held = 0

  constructor(lab: Lab, parts: SuperEdgeParts) {
    this.#lab = lab
    this.#parts = parts
    this.#ours = lab.nodes.slice(0, -THEIRS)
    this.#theirs = lab.nodes.slice(-THEIRS)
  }

  async run(): Promise<boolean> {
    await this.#mix()
    const wrong = this.#watchMarks()
    await this.#becomes('our agents count the votes of theirs', LIMIT_MS, () => this.#areCounted())
    await this.#becomes('their agents see all nodes up', LIMIT_MS, () =>
      this.#theySay(this.#lab.nodes, true),
    )
    for (const dead of [this.#ours.at(-1)!, this.#theirs.at(-1)!]) {
      const whose = this.#ours.includes(dead) ? 'ours' : 'theirs'
      wrong.dead.add(dead.name)
      await dead.kill()
      await this.#becomes(`a node dies (${whose}): our agents see it`, LIMIT_MS, () =>
        this.#weSay(dead, false),
      )
      await this.#becomes('their agents see it', LIMIT_MS, () => this.#theySay([dead], false))
      await this.#becomes('it is marked', LIMIT_MS, () => isMarked(this.#lab, dead.name))
      this.#revive(dead)
      await this.#becomes('it returns: our agents see it', LIMIT_MS, () => this.#weSay(dead, true))
      await this.#becomes('their agents see it', LIMIT_MS, () => this.#theySay([dead], true))
      await this.#becomes('its mark is off', LIMIT_MS, () => !isMarked(this.#lab, dead.name))
      wrong.dead.delete(dead.name)
    }
    this.#claim('nobody who lived was marked', wrong.marked.length === 0, wrong.marked.join(', '))
    this.#parts.say(`${this.#held} passed, ${this.#failed} failed`)
    return this.#failed === 0
  }

  /** As docs/operations.md says, in the other direction: theirs come in place of ours, and ours are told of them. */
  async #mix(): Promise<void> {
    const { plane, props } = this.#lab
    const literal = `--from-literal=hmackey=${props.key}`
    await plane.kubectl([...SYSTEM, 'create', 'configmap', 'hmac-config', literal])
    await plane.kubectl([...SYSTEM, 'label', 'configmap', 'hmac-config', LABEL])
    await plane.kubectl([...SYSTEM, 'delete', 'secret', 'edge-health-keys'])
    for (const node of this.#lab.nodes) await this.#postPod(node)
    for (const node of this.#theirs) {
      await node.stopAgent()
      await this.#startTheirs(node)
    }
    for (const node of this.#ours) {
      await node.stopAgent()
      node.moreArgs = MIXED
      node.startAgent()
    }
  }

  /** Their agents look up a node's address in the status of its agent's Pod. */
  async #postPod({ name, address }: LabNode): Promise<void> {
    const status = { phase: 'Running', hostIP: address, podIP: address, podIPs: [{ ip: address }] }
    const patch = ['--subresource=status', '-p', JSON.stringify({ status })]
    const { plane } = this.#lab
    await plane.kubectl([...SYSTEM, 'label', 'pod', agentPod(name), LABEL])
    await plane.kubectl([...SYSTEM, 'patch', 'pod', agentPod(name), ...patch])
  }

  async #startTheirs(node: LabNode): Promise<void> {
    const { plane } = this.#lab
    const server = `https://${CLOUD_HUB}:${API_PORT}`
    const config = kubeconfig(server, plane.ca, { token: plane.adminToken })
    await node.space.run('sh', ['-c', 'umask 077; cat >/run/superedge.kubeconfig'], config)
    const flags = ['--kubeconfig=/run/superedge.kubeconfig', '--v=2']
    const plugin = '--kubeletauthplugin=timeout=5,retrytime=3,weight=1,port=10250'
    node.startOther([this.#parts.agent, ...flags, plugin], {
      ...{ NODE_NAME: node.name, NODE_IP: node.address, POD_IP: node.address },
      ...{ POD_NAME: agentPod(node.name), NAMESPACE: 'edge-system' },
    })
  }

  #revive(node: LabNode): void {
    node.startKubelet()
    if (this.#ours.includes(node)) node.startAgent()
    else void this.#startTheirs(node)
  }

  /** Who is marked while it lives. */
  #watchMarks(): { readonly marked: string[]; readonly dead: Set<string> } {
    const seen = { marked: [] as string[], dead: new Set<string>() }
    this.#lab.observer.onNode = ({ metadata: { name, annotations } }) => {
      if (annotations?.['nodeunhealth'] === 'yes' && !seen.dead.has(name)) seen.marked.push(name)
    }
    return seen
  }

  async #areCounted(): Promise<boolean> {
    const answers = await Promise.all(
      this.#ours.map(async node => {
        const answer = await fetch(`${node.localUrl}/status?node=${this.#ours[0]!.name}`)
        return (await answer.json()) as { node?: { voters: { name: string; counts: boolean }[] } }
      }),
    )
    return answers.every(({ node: about }) =>
      this.#theirs.every(node =>
        about?.voters.some(each => each.name === node.name && each.counts),
      ),
    )
  }

  async #weSay(about: LabNode, isUp: boolean): Promise<boolean> {
    const { nodes } = await this.#lab.observer.look()
    const others = nodes.filter(({ name }) => name !== about.name && this.#isOurs(name))
    return others.every(({ localinfo }) => localinfo?.get(about.name) === isUp)
  }

  #isOurs(name: string): boolean {
    return this.#ours.some(node => node.name === name)
  }

  async #theySay(about: readonly LabNode[], isUp: boolean): Promise<boolean> {
    const running = this.#theirs.filter(node => node.state === 'running')
    const words = await Promise.all(
      running.flatMap(by => about.filter(node => node !== by).map(node => theirWord(by, node))),
    )
    return words.every(word => word === isUp)
  }

  async #becomes(
    claim: string,
    ms: number,
    holds: () => boolean | Promise<boolean>,
  ): Promise<void> {
    const { signal } = this.#parts
    const patience = new FairTime()
    const startedAt = performance.now()
    patience.restart(startedAt)
    let trouble = ''
    const isSo = async (): Promise<boolean> => {
      try {
        return await holds()
      } catch (error) {
        trouble = reasonOf(error)
        return false
      }
    }
    while (!(await isSo())) {
      signal.throwIfAborted()
      if (patience.spentAt(performance.now()) > ms) {
        this.#claim(claim, false, `not within ${ms / 1_000} s ${trouble}`)
        return
      }
      await sleep(systemClock, 200, signal)
    }
    this.#claim(claim, true, `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`)
  }

  #claim(claim: string, holds: boolean, more: string): void {
    if (holds) this.#held++
    else this.#failed++
    this.#parts.say(`  ${holds ? 'ok    ' : 'not ok'} ${claim}${more === '' ? '' : ` (${more})`}`)
  }
}

/** The zone is up and all its agents are ours; at the end two of them are SuperEdge's. */
export const runSuperEdge = (lab: Lab, parts: SuperEdgeParts): Promise<boolean> =>
  new MixedZone(lab, parts).run()

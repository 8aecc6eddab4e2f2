// SPDX-License-Identifier: Apache-2.0
import { Agent, request } from 'node:https'
import { sleep, systemClock } from '../../../core/clock.js'
import { mapsAt } from '../../../core/json-at.js'
import { parseJson } from '../../../core/parse.js'
import { percentile } from '../../../bench/wrapper/table.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'

const UNREACHABLE = 'node.kubernetes.io/unreachable'
const BODY = JSON.stringify({ spec: { taints: [{ key: UNREACHABLE, effect: 'NoExecute' }] } })

/** What became of the writes of one phase. */
export interface PhaseOfLoad {
  readonly phase: string
  readonly ms: readonly number[]
  /** The taint stayed: nobody reviewed them. */
  readonly unreviewed: number
  /** The apiserver did not take them; why, once each. */
  readonly refused: readonly string[]
  /** Due, and not sent: too many others waited for their answer. */
  readonly leftOut: number
}

type Counts = { -readonly [Key in Exclude<keyof PhaseOfLoad, 'phase' | 'refused'>]: PhaseOfLoad[Key] } & { ms: number[]; readonly refused: Set<string> } // prettier-ignore

/** More would only wait in the apiserver, until reviews exceed their two seconds. */
const MOST_PENDING = 20

interface LoadParts {
  readonly plane: ControlPlane
  /** Nodes that are kept. */
  readonly nodes: readonly string[]
  /** Writes a second. */
  readonly rate: number
  /** What the writes that begin now are counted under. */
  readonly phase: () => string
}

/** The node controller's write of the taint, at a steady pace, as dry runs: the webhook reviews each, and none is stored. */
export class TaintLoad {
  readonly #parts: LoadParts
  readonly #phases = new Map<string, Counts>()
  #pending = 0
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined

  constructor(parts: LoadParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    const create = ['-n', 'kube-system', 'create', 'token', 'node-controller']
    const token = (await this.#parts.plane.kubectl(create)).trim()
    this.#running = this.#run(token)
  }

  /** In the order in which they began. */
  async stop(): Promise<readonly PhaseOfLoad[]> {
    this.#stop.abort()
    await this.#running
    return [...this.#phases].map(([phase, { refused, ...counts }]) => ({ phase, ...counts, refused: [...refused] })) // prettier-ignore
  }

  async #run(token: string): Promise<void> {
    const agent = new Agent({ keepAlive: true })
    const pending: Promise<void>[] = []
    const { nodes, rate } = this.#parts
    const from = systemClock.now()
    for (let at = 0; !this.#stop.signal.aborted; at++) {
      pending.push(this.#write(nodes[at % nodes.length]!, token, agent))
      const dueMs = from + ((at + 1) * 1_000) / rate - systemClock.now()
      await sleep(systemClock, Math.max(0, dueMs), this.#stop.signal)
    }
    await Promise.all(pending)
    agent.destroy()
  }

  get #counts(): Counts {
    const phase = this.#parts.phase()
    const counts = this.#phases.get(phase) ?? { ms: [], unreviewed: 0, refused: new Set(), leftOut: 0 } // prettier-ignore
    this.#phases.set(phase, counts)
    return counts
  }

  async #write(node: string, token: string, agent: Agent): Promise<void> {
    const counts = this.#counts
    if (this.#pending >= MOST_PENDING) {
      counts.leftOut++
      return
    }
    this.#pending++
    await this.#ask(node, { token, agent }, counts)
    this.#pending--
  }

  #ask(
    node: string,
    { token, agent }: { readonly token: string; readonly agent: Agent },
    counts: Counts,
  ): Promise<void> {
    const { plane } = this.#parts
    const startedAt = systemClock.now()
    const url = `${plane.url}/api/v1/nodes/${node}?dryRun=All&fieldManager=kube-controller-manager`
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/strategic-merge-patch+json',
    }
    return new Promise(resolve => {
      const asked = request(url, { method: 'PATCH', ca: plane.ca, agent, headers }, answer => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => (text += part))
        answer.on('end', () => {
          counts.ms.push(systemClock.now() - startedAt)
          if (answer.statusCode !== 200) counts.refused.add(text)
          else if (hasTaint(parseJson('a Node', text))) counts.unreviewed++
          resolve()
        })
      })
      asked.on('error', error => {
        counts.refused.add(error.message)
        resolve()
      })
      asked.end(BODY)
    })
  }
}

const hasTaint = (node: unknown): boolean =>
  mapsAt(node, 'spec', 'taints').some(
    ({ key, effect }) => key === UNREACHABLE && effect === 'NoExecute',
  )

/** One phase in a line. */
export const phaseText = ({ phase, ms, unreviewed, refused, leftOut }: PhaseOfLoad): string =>
  `${phase}: ${ms.length} writes, ${unreviewed} unreviewed, ${refused.length} refused, ${leftOut} left out, ` +
  `p50 ${percentile(ms, 0.5).toFixed(1)} ms, p99 ${percentile(ms, 0.99).toFixed(1)} ms`

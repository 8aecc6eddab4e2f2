// SPDX-License-Identifier: Apache-2.0
import { Agent, request } from 'node:https'
import { sleep, systemClock } from '../../core/clock.js'
import {
  makeNode,
  makePod,
  makeReview,
  managedFields,
  STAMP,
} from '../../testkit/admission/reviews.js'

/** What came of it. */
export interface Asked {
  /** Of each answer. */
  readonly ms: readonly number[]
  readonly failed: number
  /** Answers that were not what they must be. */
  readonly wrong: number
}

/** Makes the next review: its text, and a text that its answer has, or not. */
export type Question = () => {
  readonly text: string
  readonly sign: string
  readonly hasSign: boolean
}

const never = new AbortController().signal

const isOne = (share: number): boolean => Math.random() < share

/** With two Nodes of real size; half of them have a word that is fresh, and lose the taint. */
export const taintQuestion =
  (padding: object): Question =>
  () => {
    const lag = isOne(0.5) ? 0 : 3_600_000
    const shift = Date.now() - STAMP
    const node = makeNode({ stamp: STAMP + shift, word: { agoMs: lag - shift } })
    const full = { ...node, status: { ...(node['status'] as object), ...padding } }
    const text = JSON.stringify(makeReview('/node-taint', full))
    return { text, sign: '"patch"', hasSign: lag === 0 }
  }

/** With two Pods of 6 kB; half of them are on a node that is kept, and stay ready. */
export const podQuestion =
  (kept: readonly string[], others: readonly string[]): Question =>
  () => {
    const isKept = isOne(0.5)
    const nodes = isKept ? kept : others
    const node = nodes[Math.floor(Math.random() * nodes.length)]
    const annotations = { padding: 'x'.repeat(5_500) }
    const podOf = (ready: string) => {
      const pod = makePod(node, ready)
      const metadata = { ...(pod['metadata'] as object), annotations }
      return { ...pod, metadata: { ...metadata, managedFields: managedFields(Date.now()) } }
    }
    const text = JSON.stringify(makeReview('/pod-status', podOf('False'), podOf('True')))
    return { text, sign: '"allowed":false', hasSign: isKept }
  }

/** Ask at a steady pace, whether answers come or not, over kept connections. */
export const askAt = async (how: {
  readonly port: number
  readonly ca: string
  readonly path: string
  readonly rate: number
  readonly seconds: number
  readonly question: Question
}): Promise<Asked> => {
  const { port, ca, path, rate, seconds, question } = how
  const agent = new Agent({ keepAlive: true, maxSockets: 25 })
  const servername = 'edge-health-webhook.edge-system.svc'
  const headers = { 'content-type': 'application/json' }
  const options = { host: '127.0.0.1', port, path, method: 'POST', ca, servername, agent, headers }
  const ms: number[] = []
  let failed = 0
  let wrong = 0
  const ask = ({ text, sign, hasSign }: ReturnType<Question>): Promise<void> =>
    new Promise(resolve => {
      const startedAt = systemClock.now()
      const asked = request(options, answer => {
        let got = ''
        answer.setEncoding('utf8').on('data', (part: string) => (got += part))
        answer.on('end', () => {
          ms.push(systemClock.now() - startedAt)
          if (!got.includes('"allowed"') || got.includes(sign) !== hasSign) wrong++
          resolve()
        })
      })
      asked.on('error', () => {
        failed++
        resolve()
      })
      asked.end(text)
    })
  const from = systemClock.now()
  const pending: Promise<void>[] = []
  for (let at = 0; at < rate * seconds; at++) {
    const next = question()
    await sleep(systemClock, Math.max(0, from + (at * 1_000) / rate - systemClock.now()), never)
    pending.push(ask(next))
  }
  await Promise.all(pending)
  agent.destroy()
  return { ms, failed, wrong }
}

// SPDX-License-Identifier: Apache-2.0
import { Agent, request } from 'node:https'
import { sleep, systemClock } from '../../core/clock.js'
import { makeNode, makeReview, STAMP } from '../../testkit/admission/reviews.js'

/** What came of it. */
export interface Asked {
  /** Of each answer. */
  readonly ms: readonly number[]
  readonly failed: number
  /** Answers that were not what they must be. */
  readonly wrong: number
}

const never = new AbortController().signal

/** Ask at a steady pace, whether answers come or not, over kept connections; each review has two Nodes of real size. */
export const askAt = async (how: {
  readonly port: number
  readonly ca: string
  readonly rate: number
  readonly seconds: number
  /** Further status of each Node. */
  readonly padding: object
}): Promise<Asked> => {
  const { port, ca, rate, seconds, padding } = how
  const agent = new Agent({ keepAlive: true, maxSockets: 25 })
  const servername = 'edge-health-webhook.edge-system.svc'
  const headers = { 'content-type': 'application/json' }
  const ms: number[] = []
  let failed = 0
  let wrong = 0
  const body = (): string => {
    // The word is as old as its stamp is: half of them are fresh.
    const lag = Math.random() < 0.5 ? 0 : 60_000
    const shift = Date.now() - STAMP
    const node = makeNode({ stamp: STAMP + shift, word: { agoMs: lag - shift } })
    const full = { ...node, status: { ...(node['status'] as object), ...padding } }
    return JSON.stringify({ ...makeReview('/node-taint', full), expects: lag === 0 })
  }
  const ask = (text: string): Promise<void> =>
    new Promise(resolve => {
      const startedAt = systemClock.now()
      const asked = request(
        {
          host: '127.0.0.1',
          port,
          path: '/node-taint',
          method: 'POST',
          ca,
          servername,
          agent,
          headers,
        },
        answer => {
          // prettier-ignore
          let got = ''
          answer.setEncoding('utf8').on('data', (part: string) => (got += part))
          answer.on('end', () => {
            ms.push(systemClock.now() - startedAt)
            if (got.includes('"patch"') !== text.includes('"expects":true')) wrong++
            resolve()
          })
        },
      )
      asked.on('error', () => {
        failed++
        resolve()
      })
      asked.end(text)
    })
  const from = systemClock.now()
  const pending: Promise<void>[] = []
  for (let at = 0; at < rate * seconds; at++) {
    const text = body()
    await sleep(systemClock, Math.max(0, from + (at * 1_000) / rate - systemClock.now()), never)
    pending.push(ask(text))
  }
  await Promise.all(pending)
  agent.destroy()
  return { ms, failed, wrong }
}

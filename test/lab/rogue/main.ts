// SPDX-License-Identifier: Apache-2.0
// The rogue as a process of its own: an order as JSON on the first line of its input; what came of it, line by line on
// its output; it ends with its input.
import { setMaxListeners } from 'node:events'
import { createInterface } from 'node:readline'
import { Flooder } from './flooder.js'
import { Forger } from './forger.js'
import { Insider, steal } from './insider.js'
import type { Liar, LieOrder } from './liar.js'
import type { Order } from './order.js'
import { record } from './recorder.js'
import { Replayer } from './replayer.js'

const REPORT_MS = 250

const end = new AbortController()
// Each request and each pause listens.
setMaxListeners(0, end.signal)
const answers: Record<string, number> = {}
const count = (answer: string): void => {
  answers[answer] = (answers[answer] ?? 0) + 1
}
const report = (): void => void process.stdout.write(`${JSON.stringify(answers)}\n`)

const liarOf = async (order: LieOrder): Promise<Liar> => {
  if (order.state === undefined) return new Forger(order, count)
  const Stolen = order.lies.perSecond > 0 ? Flooder : Insider
  return new Stolen(order, await steal(order.state, order.self), count)
}

const obey = async (order: Order): Promise<void> => {
  switch (order.do) {
    case 'lie':
      return (await liarOf(order)).run(end.signal)
    case 'record':
      return record(order, count, end.signal)
    case 'replay':
      return new Replayer(order, count).run(end.signal)
  }
}

const input = createInterface({ input: process.stdin })
input.once('close', () => end.abort())
input.once('line', line => {
  const timer = setInterval(report, REPORT_MS)
  void obey(JSON.parse(line) as Order).finally(() => {
    clearInterval(timer)
    report()
    process.exit(0)
  })
})

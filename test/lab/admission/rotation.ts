// SPDX-License-Identifier: Apache-2.0
import { cpus, loadavg } from 'node:os'
import { makePair, serviceNames, type ServingPair } from '../../../admission/run/certificates.js'
import type { AdmissionCell } from './cell.js'
import type { Stage } from './stage.js'
import { phaseText, TaintLoad, type PhaseOfLoad } from './taint-load.js'

const RATE = 100
const DAY_MS = 86_400_000
/** Two renewals, each two looks of up to 36 s and the minute in which the next authority is trusted and not served; twice that. */
const RENEWALS_MS = 528_000

/** The Secret of certificates that have to be renewed; the next ones, too, as soon as they are served. */
const storePairs = async (stage: Stage, current: ServingPair, next: ServingPair): Promise<void> => {
  const texts = {
    ...{ 'ca.crt': current.ca, 'tls.crt': current.cert, 'tls.key': current.key },
    ...{ 'next-ca.crt': next.ca, 'next-tls.crt': next.cert, 'next-tls.key': next.key },
  }
  const value = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')])) // prettier-ignore
  const patch = JSON.stringify([{ op: 'add', path: '/data', value }])
  const secret = ['-n', 'edge-system', 'patch', 'secret', 'edge-health-webhook-certificates']
  await stage.plane.kubectl([...secret, '--type=json', '-p', patch])
}

/** Where the renewals have come to: the authorities that the apiserver trusts, by number, and each replica's renewals. */
class Renewals {
  readonly #stage: Stage
  readonly #authorities: string[]
  text = ''
  isOver = false

  constructor(stage: Stage, authorities: readonly string[]) {
    this.#stage = stage
    this.#authorities = authorities.map(text => text.trim())
  }

  async look(): Promise<void> {
    const trusted = (await this.#stage.trusted()).map(text => this.#numberOf(text))
    const served = await Promise.all(([1, 2] as const).map(number => this.#renewalsOf(number)))
    this.text = `trusted ${trusted.map(number => `CA ${number}`).join(' and ')}, renewals ${served.join(' and ')}`
    this.isOver = !trusted.includes(1) && served.every(count => count >= 2)
  }

  #numberOf(authority: string): number {
    if (!this.#authorities.includes(authority)) this.#authorities.push(authority)
    return this.#authorities.indexOf(authority) + 1
  }

  async #renewalsOf(number: 1 | 2): Promise<number> {
    const text = await this.#stage.replicas.ask(number, '/metrics')
    return Number(/certificate_renewals_total (\d+)/.exec(text)?.[1] ?? NaN)
  }
}

const sum = (phases: readonly PhaseOfLoad[], of: (phase: PhaseOfLoad) => number): number =>
  phases.reduce((all, phase) => all + of(phase), 0)

export const rotation: AdmissionCell = {
  name: 'webhook-rotation',
  shows: `certificates of 70 days are renewed twice under ${RATE} reviews a second, until the first authority is dropped, without one failed review`,
  play: async (stage, { note, check }) => {
    await stage.register('webhook')
    const names = serviceNames('edge-health-webhook', 'edge-system')
    // Authorities of the same moment would have the same name.
    const [current, next] = await Promise.all([71, 70].map(days => makePair(names, Date.now() - days * DAY_MS))) // prettier-ignore
    await storePairs(stage, current!, next!)
    await stage.replicas.start(1)
    await stage.replicas.start(2)
    const nodes = Array.from({ length: 8 }, (_, at) => `rotation-${at}`)
    for (const name of nodes) {
      await stage.makeNode(name)
      await stage.cut(name, { isVouched: true })
    }
    for (const name of nodes)
      await stage.until(`${name} is not heard`, async () => (await stage.see(name)).ready === 'Unknown') // prettier-ignore
    const before = await stage.failedReviews()
    const renewals = new Renewals(stage, [current!.ca, next!.ca])
    await renewals.look()
    const load = new TaintLoad({ plane: stage.plane, nodes, rate: RATE, phase: () => renewals.text }) // prettier-ignore
    await load.start()
    const over = async (): Promise<boolean> => {
      // On a busy machine an answer may be late.
      await renewals.look().catch(() => undefined)
      return renewals.isOver
    }
    let phases: readonly PhaseOfLoad[]
    try {
      await stage.until('both serve the third, and the first is trusted no more', over, RENEWALS_MS)
      await stage.wait(10_000)
    } finally {
      phases = await load.stop()
      for (const phase of phases) note(phaseText(phase))
    }
    const everything = { phase: 'all', ms: phases.flatMap(({ ms }) => ms), unreviewed: sum(phases, ({ unreviewed }) => unreviewed), refused: phases.flatMap(({ refused }) => refused), leftOut: sum(phases, ({ leftOut }) => leftOut) } // prettier-ignore
    note(phaseText(everything))
    for (const text of everything.refused) note(`refused: ${text.slice(0, 200)}`)
    for (const number of [1, 2] as const) {
      note(`reviews: ${await stage.replicas.reviews(number)}`)
      note(`took: ${await stage.replicas.cost(number)}`)
    }
    for (const text of stage.failedOpen()) note(`the apiserver: ${text}`)
    note(`load of the machine: ${loadavg().map(load => load.toFixed(1)).join(', ')} on ${cpus().length} CPUs`) // prettier-ignore
    const seen = await Promise.all(nodes.map(name => stage.see(name)))
    check('no review failed, by the count of the apiserver', (await stage.failedReviews()) === before) // prettier-ignore
    check(
      'each write was taken, without the taint',
      everything.unreviewed === 0 && everything.refused.length === 0,
    )
    check(
      'no node was tainted',
      seen.every(({ isTainted }) => !isTainted),
    )
  },
}

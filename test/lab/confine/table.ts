// SPDX-License-Identifier: Apache-2.0
import type { Answered, Bed } from './bed.js'
import type { Row } from './rows.js'

const POLICY = /ValidatingAdmissionPolicy '(?:shop-)?edge-health-([a-z-]+)' with/

/** Who refused, by the apiserver's own words. */
const refuserOf = ({ status, message }: Answered): string => {
  if (status < 300) return 'nobody'
  if (status === 401) return 'authentication'
  const policy = POLICY.exec(message)?.[1]
  if (policy !== undefined && status === 403) return policy
  return status === 403 && message.includes(' cannot ') ? 'rights' : `${status}: ${message}`
}

/** How a row came out: who refused each of its requests. */
interface Outcome {
  readonly isRight: boolean
  readonly wanted: readonly string[]
  readonly seen: readonly string[]
  readonly message: string
}

/** Plays rows, and counts. */
export class Table {
  readonly #bed: Bed
  readonly #say: (line: string) => void
  #asExpected = 0
  #wrong = 0

  constructor(bed: Bed, say: (line: string) => void) {
    this.#bed = bed
    this.#say = say
  }

  get asExpected(): number {
    return this.#asExpected
  }

  get wrong(): number {
    return this.#wrong
  }

  /** What another table counted. */
  add({ asExpected, wrong }: Pick<Table, 'asExpected' | 'wrong'>): void {
    this.#asExpected += asExpected
    this.#wrong += wrong
  }

  /** Without those whose token this Kubernetes does not issue. */
  playable(rows: readonly Row[]): readonly Row[] {
    return rows.filter(({ by = 'agent' }) => this.#bed.hasTokenOf(by))
  }

  async play(title: string, all: readonly Row[]): Promise<void> {
    this.#say(`${title}:`)
    const rows = this.playable(all)
    for (const { what, by = '' } of all.filter(row => !rows.includes(row)))
      this.#say(`  not played, this Kubernetes issues no such token: ${by}: ${what}`)
    const count = { allowed: 0, refused: 0, wrong: 0 }
    for (const row of rows) {
      const outcome = await this.outcome(row)
      this.#claim(row, outcome)
      count[!outcome.isRight ? 'wrong' : row.refusedBy === 'nobody' ? 'allowed' : 'refused']++
    }
    const { allowed, refused, wrong } = count
    this.add({ asExpected: allowed + refused, wrong })
    this.#say(
      `  ${rows.length} writes: ${allowed} allowed and ${refused} refused as expected, ${wrong} otherwise`,
    )
  }

  /** Play the row on a Node of its own, and tell nobody. */
  async outcome(row: Row): Promise<Outcome> {
    const { by = 'agent', before = 'plain', refusedBy, sends } = row
    const node = await this.#bed.anyNode(before)
    const answers: Answered[] = []
    for (const sent of sends(node, Date.now())) answers.push(await this.#bed.send(by, sent))
    const seen = answers.map(refuserOf)
    const wanted = [...answers.slice(1).map(() => 'nobody'), refusedBy]
    const message = answers.at(-1)!.message
    return { isRight: seen.join() === wanted.join(), wanted, seen, message }
  }

  /** What failed beside the rows. */
  failed(what: string): void {
    this.#wrong++
    this.#say(`  NOT OK ${what}`)
  }

  #claim({ by = 'agent', what }: Row, outcome: Outcome): void {
    const { isRight, wanted, seen, message } = outcome
    const who = seen.at(-1)!
    const became = who === 'nobody' ? 'allowed' : `refused by ${who}`
    this.#say(`  ${isRight ? 'ok    ' : 'NOT OK'} ${by}: ${what}: ${became}`)
    if (!isRight)
      this.#say(`         expected ${wanted.join(', ')}; was ${seen.join(', ')} ${message}`)
  }
}

// SPDX-License-Identifier: Apache-2.0
// Whether the table of writes would notice a policy that is weaker than ours: one rule after the other is taken out.
import { sleep, systemClock } from '../../../core/clock.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { patchPolicy, policiesOf, type Policy, rowsOf } from './policies.js'
import type { Row } from './rows.js'
import type { Table } from './table.js'

/** By then an apiserver has compiled a policy that changed; a slow one, after as long again. */
const BITES_MS = 4_000

/** What makes a weaker rule of a text in a policy's variables. */
const WEAKER: readonly (readonly [variable: string, from: string, to: string])[] = [
  ['stamps', "m.?subresource.orValue('') == variables.part", 'true'],
  ['latest', "duration('2s')", "duration('4s')"],
  ['latest', "duration('2s')", "duration('0s') - duration('10s')"],
  ['isMerged', '>= 10', '>= 0'],
  ['isMerged', '>= 10', '>= 100'],
  ['isOwn', 'variables.writer == request.name', 'false'],
  ['isOwn', 'variables.writer == request.name', 'true'],
  ['oldForeign', "!(t.key.startsWith('edge-health/')", "(t.key.startsWith('edge-health/')"],
]

/** There for its message: what has no former or no new object fails the other rules. */
const SAID_TWICE = "request.operation == 'UPDATE'"

interface Mutant {
  readonly policy: string
  readonly what: string
  readonly path: string
  readonly was: string
  readonly expression: string
}

const mutantsOf = ({ metadata, spec }: Policy): readonly Mutant[] => {
  const { name: policy } = metadata
  const variables = spec.variables ?? []
  const rules = spec.validations.flatMap(({ message, expression: was }, place) =>
    was === SAID_TWICE
      ? []
      : {
          ...{ policy, what: `without "${message}"`, was },
          ...{ path: `/spec/validations/${place}/expression`, expression: 'true' },
        },
  )
  const texts = WEAKER.flatMap(([variable, from, to]) => {
    const place = variables.findIndex(({ name }) => name === variable)
    const was = variables[place]?.expression ?? ''
    if (!was.includes(from)) return []
    const [path, expression] = [`/spec/variables/${place}/expression`, was.replace(from, to)]
    return [{ policy, what: weaker(variable, from, to), path, was, expression }]
  })
  return [...rules, ...texts]
}

const weaker = (variable: string, from: string, to: string): string =>
  `${variable}: ${from} → ${to}`

interface Seams {
  readonly table: Table
  readonly rows: readonly Row[]
  readonly say: (line: string) => void
}

/** Take each rule out of its policy in turn, play the rows of that policy until one shows it, and put the rule back. */
export const playMutants = async (
  plane: ControlPlane,
  { table, rows, say }: Seams,
  signal: AbortSignal,
): Promise<void> => {
  const policies = await policiesOf(plane, signal)
  const mutants = policies.flatMap(mutantsOf)
  for (const [variable, from, to] of WEAKER)
    if (mutants.every(({ what }) => what !== weaker(variable, from, to)))
      table.failed(`no policy has a variable ${variable} with ${from}`)
  const rowsBy = new Map<string, readonly Row[]>()
  for (const { metadata } of policies)
    rowsBy.set(metadata.name, await rightOf(table, rowsOf(metadata.name, rows)))
  say('policies with one rule less:')
  const count = { noticed: 0, unnoticed: 0 }
  for (const { policy, what, path, was, expression } of mutants) {
    await patchPolicy(plane, policy, path, expression)
    const noticed = await firstWrong(table, rowsBy.get(policy)!, signal)
    await patchPolicy(plane, policy, path, was)
    count[noticed === undefined ? 'unnoticed' : 'noticed']++
    if (noticed === undefined) table.failed(`${policy} ${what}: no row notices it`)
    else say(`  ok     ${policy} ${what}: noticed by "${noticed.what}"`)
  }
  say(`  ${mutants.length} mutants: ${count.noticed} noticed, ${count.unnoticed} not`)
}

/** A row that is wrong with the policies as they are shows nothing. */
const rightOf = async (table: Table, rows: readonly Row[]): Promise<readonly Row[]> => {
  const right: Row[] = []
  for (const row of rows)
    if ((await table.outcome(row)).isRight) right.push(row)
    else table.failed(`"${row.what}" is wrong before any rule is taken out`)
  return right
}

const firstWrong = async (
  table: Table,
  rows: readonly Row[],
  signal: AbortSignal,
): Promise<Row | undefined> => {
  for (let tries = 0; tries < 2; tries++) {
    await sleep(systemClock, BITES_MS, signal)
    for (const row of rows) if (!(await table.outcome(row)).isRight) return row
  }
  return undefined
}

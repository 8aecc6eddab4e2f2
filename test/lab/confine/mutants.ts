// SPDX-License-Identifier: Apache-2.0
// Whether the table of writes would notice a policy that is weaker than ours: one rule after the other is taken out.
import { sleep, systemClock } from '../../../core/clock.js'
import type { Json } from '../../../sandbox/api-client.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import type { Row } from './rows.js'
import type { Table } from './table.js'

const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
/** By then an apiserver has compiled a policy that changed. */
const BITES_MS = 4_000

interface Policy {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly variables?: readonly { readonly name: string; readonly expression: string }[]
    readonly validations: readonly { readonly expression: string; readonly message: string }[]
  }
}

/** What makes a weaker rule of a text in a policy's variables. */
const WEAKER: readonly (readonly [variable: string, from: string, to: string])[] = [
  ['stamps', "m.?subresource.orValue('') == variables.part", 'true'],
  ['latest', "duration('2s')", "duration('10s')"],
  ['latest', "duration('2s')", "duration('0s') - duration('10s')"],
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
  readonly expression: string
}

const mutantsOf = ({ metadata, spec }: Policy): readonly Mutant[] => {
  const { name: policy } = metadata
  const variables = spec.variables ?? []
  const rules = spec.validations.flatMap(({ message, expression: rule }, place) =>
    rule === SAID_TWICE
      ? []
      : {
          ...{ policy, what: `without "${message}"` },
          ...{ path: `/spec/validations/${place}/expression`, expression: 'true' },
        },
  )
  const texts = WEAKER.flatMap(([variable, from, to]) => {
    const place = variables.findIndex(({ name }) => name === variable)
    const text = variables[place]?.expression ?? ''
    if (!text.includes(from)) return []
    const [path, expression] = [`/spec/variables/${place}/expression`, text.replace(from, to)]
    return [{ policy, what: `${variable}: ${from} → ${to}`, path, expression }]
  })
  return [...rules, ...texts]
}

/** Take each rule out of its policy in turn, and play the rows of that policy until one shows it. */
export const playMutants = async (
  plane: ControlPlane,
  { table, rows, say }: { table: Table; rows: readonly Row[]; say: (line: string) => void },
  signal: AbortSignal,
): Promise<void> => {
  const list = await plane.admin.get(POLICIES, signal)
  const policies = (list['items'] as readonly (Policy & Json)[]).filter(
    ({ metadata }) => !metadata.name.startsWith('shop-'),
  )
  say('policies with one rule less:')
  for (const mutant of policies.flatMap(mutantsOf)) {
    const { policy, what, path, expression } = mutant
    const change = JSON.stringify([{ op: 'replace', path, value: expression }])
    await plane.kubectl(['patch', 'validatingadmissionpolicy', policy, '--type=json', '-p', change])
    await sleep(systemClock, BITES_MS, signal)
    const noticed = await firstWrong(table, rows, policy)
    if (noticed === undefined) table.failed(`${policy} ${what}: no row notices it`)
    else say(`  ok     ${policy} ${what}: noticed by "${noticed.what}"`)
    await plane.kubectl(['apply', '-k', 'deploy/base'])
  }
}

const firstWrong = async (
  table: Table,
  rows: readonly Row[],
  policy: string,
): Promise<Row | undefined> => {
  const concerned = rows.filter(
    ({ refusedBy }) => refusedBy === 'nobody' || `edge-health-${refusedBy}` === policy,
  )
  const inOrder = concerned.toSorted((a, b) => Number(a.refusedBy === 'nobody') - Number(b.refusedBy === 'nobody')) // prettier-ignore
  for (const row of inOrder) if (!(await table.outcome(row)).isRight) return row
  return undefined
}

// SPDX-License-Identifier: Apache-2.0
// The policies that an apiserver has of ours, and the rows that concern each.
import type { Json } from '../../../sandbox/api-client.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import type { Row } from './rows.js'

const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'

interface Named {
  readonly name: string
  readonly expression: string
}

/** A ValidatingAdmissionPolicy, as far as it is changed here. */
export interface Policy {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly matchConditions: readonly Named[]
    readonly variables?: readonly Named[]
    readonly validations: readonly { readonly expression: string; readonly message: string }[]
  }
}

/** All policies under the names that deploy/ gives them; those of `renamed` are left out. */
export const policiesOf = async (
  { admin }: ControlPlane,
  signal: AbortSignal,
): Promise<readonly Policy[]> => {
  const list = await admin.get(POLICIES, signal)
  const items = list['items'] as readonly (Policy & Json)[]
  return items.filter(({ metadata }) => metadata.name.startsWith('edge-health-'))
}

/** Put another expression in its place. */
export const patchPolicy = (
  plane: ControlPlane,
  policy: string,
  path: string,
  value: string,
): Promise<string> => {
  const operations = JSON.stringify([{ op: 'replace', path, value }])
  return plane.kubectl(['patch', 'validatingadmissionpolicy', policy, '--type=json', '-p', operations]) // prettier-ignore
}

/** Rows of the account that the policy is about: what it refuses first, what nobody refuses after that. */
export const rowsOf = (policy: string, rows: readonly Row[]): readonly Row[] => {
  const account = policy.split('-')[2]
  const own = rows.filter(({ by = 'agent' }) => by.split(/[ ,]/)[0] === account)
  return [
    ...own.filter(({ refusedBy }) => `edge-health-${refusedBy}` === policy),
    ...own.filter(({ refusedBy }) => refusedBy === 'nobody'),
  ]
}

// SPDX-License-Identifier: Apache-2.0
// The policies that an apiserver has of ours, and the rows that concern each.
import { sleep, systemClock } from '../../../core/clock.js'
import type { Json } from '../../../sandbox/api-client.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import type { Row } from './rows.js'

const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
/** Where a policy names the account that it is about. */
export const ACCOUNT_PATH = '/spec/matchConditions/0/expression'
/** What stands there if it is somebody else's. */
export const OTHER_ACCOUNT =
  "request.userInfo.username == 'system:serviceaccount:edge-system:other'"
const PATIENCE_MS = 30_000

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
  value: unknown,
): Promise<string> => {
  const operations = JSON.stringify([{ op: 'replace', path, value }])
  return plane.kubectl(['patch', 'validatingadmissionpolicy', policy, '--type=json', '-p', operations]) // prettier-ignore
}

/** Look until something is so. @returns the last look: what is not as it must be, or undefined. */
export const untilSo = async (
  look: () => Promise<string | undefined>,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const until = performance.now() + PATIENCE_MS
  let trouble = await look()
  while (trouble !== undefined && performance.now() < until) {
    await sleep(systemClock, 200, signal)
    trouble = await look()
  }
  return trouble
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

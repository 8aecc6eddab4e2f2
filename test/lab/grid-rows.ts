// SPDX-License-Identifier: Apache-2.0
// What SuperEdge's controller of grids was seen to do, row by row, on a real apiserver.
import { reasonOf } from '../../core/errors.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import { allGridRows, playGridRow } from '../../testkit/kube/grid-rows.js'
import { clientOf, rawType, until } from '../../testkit/kube/raw-objects.js'
import { GridStage } from '../../testkit/kube/grid-stage.js'
import { installCrds, readCrds } from '../../testkit/kube/grid-crds.js'
import type { ControlPlane } from '../../testkit/control-plane/control-plane.js'
import { installAccount } from './grids/account.js'

const never = new AbortController().signal
const FOLDER = 'deploy/components/grids'
const SERVICES = { group: '', version: 'v1', resource: 'services' }

const service = (name: string, metadata: object = {}): Record<string, unknown> => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, ...metadata },
  spec: { ports: [{ port: 1 }] },
})

/** What the account is refused, though RBAC allows it. */
const forbidden: readonly (readonly [
  what: string,
  act: (client: ResourceClient) => Promise<unknown>,
])[] = [
  [
    "delete a user's Service",
    client => client.delete(SERVICES, { namespace: 'default', name: 'users' }, {}, never),
  ],
  [
    "apply over a user's Service",
    client =>
      client.apply(
        rawType(SERVICES),
        { namespace: 'default', name: 'users' },
        {
          body: service('users', { labels: { 'superedge.io/grid-selector': 'x' } }),
          isForced: true,
        },
        never,
      ),
  ],
  [
    'make a Service of nobody',
    client =>
      client.create(rawType(SERVICES), { namespace: 'default' }, { body: service('own') }, never),
  ],
  [
    'write as another manager',
    client =>
      client.apply(
        rawType(SERVICES),
        { namespace: 'default', name: 'own' },
        { body: service('own'), fieldManager: 'kubectl' },
        never,
      ),
  ],
  [
    'have another Lease',
    client =>
      client.create(
        rawType({ group: 'coordination.k8s.io', version: 'v1', resource: 'leases' }),
        { namespace: 'edge-system' },
        {
          body: {
            apiVersion: 'coordination.k8s.io/v1',
            kind: 'Lease',
            metadata: { name: 'other' },
            spec: {},
          },
        },
        never,
      ),
  ],
]

/** Every one of them is refused by a policy, which may take a moment to be in force. */
const playForbidden = async (
  admin: ResourceClient,
  account: ResourceClient,
  say: (line: string) => void,
): Promise<readonly string[]> => {
  const where = { namespace: 'default' }
  const failed: string[] = []
  for (const [what, act] of forbidden) {
    let said = ''
    const isRefused = async (): Promise<boolean> => {
      // Before the policies are in force an attempt may have deleted it.
      await admin
        .create(rawType(SERVICES), where, { body: service('users') }, never)
        .catch(() => undefined)
      said = await act(account).then(
        () => 'it was let through',
        (error: unknown) => reasonOf(error),
      )
      return said.includes('ValidatingAdmissionPolicy')
    }
    const ok = await until(what, isRefused, 10_000).then(
      () => true,
      () => false,
    )
    say(`${ok ? 'refused' : 'NOT REFUSED'}: ${what}${ok ? '' : `: ${said}`}`)
    if (!ok) failed.push(`${what}: ${said}`)
  }
  return failed
}

/** Play all rows with the account that is shipped, and print them as a table. @returns whether all of them hold */
export const runGridRows = async (
  plane: ControlPlane,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<boolean> => {
  const server = { url: plane.url, token: plane.adminToken, ca: plane.ca }
  const admin = clientOf(server, 'kubectl')
  await plane.kubectl(['create', 'namespace', 'edge-system'])
  const token = await installAccount(plane)
  const account = clientOf({ ...server, token }, 'edge-health-grids')
  await installCrds(admin, readCrds(`${FOLDER}/crds.yaml`))
  plane.runControllers(['garbage-collector-controller'])
  const failed = [...(await playForbidden(admin, account, say))]
  await Promise.all([admin.close(), account.close()])
  let last = ''
  for (const [index, [section, row]] of allGridRows.entries()) {
    signal.throwIfAborted()
    if (section !== last) say(`\n| ${section} | SuperEdge | edge-health | |\n|---|---|---|---|`)
    last = section
    const differences = await playGridRow(new GridStage(server, `r${index}`, token), row)
    const { done, superedge, ours } = row
    say(`| ${done} | ${superedge} | ${ours} | ${differences.length === 0 ? 'ok' : 'NOT OK'} |`)
    for (const difference of differences) failed.push(`${done}: ${difference}`)
  }
  for (const line of failed) say(`not ok ${line}`)
  const all = allGridRows.length + forbidden.length
  say(`${allGridRows.length} rows, ${forbidden.length} forbidden writes`)
  say(`${all - failed.length} passed, ${failed.length} failed`)
  return failed.length === 0
}

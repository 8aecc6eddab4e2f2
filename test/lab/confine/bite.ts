// SPDX-License-Identifier: Apache-2.0
// Whether the policies of deploy/ bite: one write per policy that it alone refuses.
import type { ApiClient } from '../../../sandbox/api-client.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { waitFor } from '../patience.js'
import type { Answered, Sent } from './bed.js'
import {
  configMap,
  event,
  MANAGER,
  MERGE,
  metadata,
  micro,
  ownLease,
  patch,
  renew,
  service,
} from './requests.js'

/** An account of deploy/, less its `edge-health-`. */
export type Account = 'agent' | 'wrapper' | 'webhook' | 'bridge' | 'grids'

/** A request with the token of one of our accounts. */
export type Ask<A extends Account = Account> = (by: A, sent: Sent) => Promise<Answered>

/** Also the user agent of whoever tries. */
export const BITE = 'edge-health-bite'
const CERTIFICATES = '/api/v1/namespaces/edge-system/secrets/edge-health-webhook-certificates'

/** The wrapper's account may write nothing at all by its roles, so that its policy would have nothing to refuse. */
export const allowBite = async (plane: ControlPlane): Promise<void> => {
  const to = ['--serviceaccount=edge-system:edge-health-wrapper', '-n', 'edge-system']
  const role = ['create', 'role', BITE, '--verb=create', '--resource=configmaps']
  await plane.kubectl([...role, '-n', 'edge-system'])
  await plane.kubectl(['create', 'rolebinding', BITE, `--role=${BITE}`, ...to])
}

export type AccountTokens<A extends Account = 'agent' | 'wrapper'> = Readonly<Record<A, string>>

/** A token that is bound to nothing; an agent's must be bound to its Node. */
const tokenOf = async (admin: ApiClient, account: Account, signal: AbortSignal) => {
  const path = `/api/v1/namespaces/edge-system/serviceaccounts/edge-health-${account}/token`
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const { status } = await admin.post(path, request, signal)
  return (status as { token: string }).token
}

/** An agent's token, and one of the wrapper's account beside it. */
export const accountTokens = async (
  admin: ApiClient,
  agent: string,
  signal: AbortSignal,
): Promise<AccountTokens> => ({ agent, wrapper: await tokenOf(admin, 'wrapper', signal) })

/** Ask with these tokens. */
export const askWith =
  <A extends Account>(plane: ControlPlane, tokens: AccountTokens<A>, signal: AbortSignal): Ask<A> =>
  async (by, { method, path, type = 'application/json', body }) => {
    const response = await fetch(`${plane.url}${path}`, {
      ...{ method, signal, body: JSON.stringify(body) },
      headers: {
        authorization: `Bearer ${tokens[by]}`,
        ...{ 'content-type': type, 'user-agent': BITE },
      },
    })
    return { status: response.status, message: await response.text() }
  }

const DRY = 'dryRun=All'
const BY_AGENT = `${MANAGER}&${DRY}`
/** The same by dry run, of a request that has its query already or none. */
const dry = ({ path, ...sent }: Sent): Sent => ({
  ...sent,
  path: `${path}${path.includes('?') ? '&' : '?'}${DRY}`,
})

interface Forbidden<A extends Account> {
  readonly by: A
  readonly policy: string
  /** `node`: the one that the token is bound to. */
  readonly sent: (node: string) => Sent
}

/** Allowed by RBAC, and by dry run: nothing changes. What `edge-health-agent-others` refuses, RBAC refuses before it. */
const FORBIDDEN: readonly Forbidden<'agent' | 'wrapper'>[] = [
  {
    ...{ by: 'agent', policy: 'edge-health-agent-nodes' },
    sent: node => metadata(node, { labels: { 'example.com/forbidden': 'x' } }, BY_AGENT),
  },
  {
    ...{ by: 'agent', policy: 'edge-health-agent-leases' },
    sent: node => renew(node, micro(Date.now()), BY_AGENT),
  },
  {
    ...{ by: 'agent', policy: 'edge-health-agent-events' },
    sent: node => dry(event('Pod', 'edge-health-agent', node, Date.now())),
  },
  {
    ...{ by: 'wrapper', policy: 'edge-health-wrapper-writes' },
    sent: () => dry(configMap('bite-')),
  },
]

/** The same of accounts that come with a component. */
export type Component = 'webhook' | 'bridge' | 'grids'
const OF_COMPONENTS: readonly Forbidden<Component>[] = [
  {
    ...{ by: 'webhook', policy: 'edge-health-webhook-writes' },
    sent: () => dry(patch(CERTIFICATES, MERGE, { metadata: { annotations: { a: 'b' } } })),
  },
  {
    ...{ by: 'bridge', policy: 'edge-health-bridge-writes' },
    sent: () => dry(configMap('edge-health-x')),
  },
  {
    ...{ by: 'grids', policy: 'edge-health-grids-children' },
    sent: () => dry(service('edge-health-bite')),
  },
  {
    ...{ by: 'grids', policy: 'edge-health-grids-others' },
    sent: () => dry(ownLease('edge-health-bite')),
  },
]

/** The policies that `whoIsFree` looks at. */
export const BITING: readonly string[] = FORBIDDEN.map(({ policy }) => policy)

/** Which of our policies did not refuse the write that is forbidden by it, with what came of it. */
export const whoIsFree = (
  ask: Ask<'agent' | 'wrapper'>,
  node: string,
): Promise<readonly string[]> => tryAll(FORBIDDEN, ask, node)

/** The same of a component's account. */
export const isComponentFree = async (
  plane: ControlPlane,
  account: Component,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const token = await tokenOf(plane.admin, account, signal)
  const tokens = { webhook: token, bridge: token, grids: token }
  const own = OF_COMPONENTS.filter(({ by }) => by === account)
  return tryAll(own, askWith<Component>(plane, tokens, signal), '')
}

const tryAll = async <A extends Account>(
  all: readonly Forbidden<A>[],
  ask: Ask<A>,
  node: string,
): Promise<readonly string[]> => {
  const free: string[] = []
  for (const { by, policy, sent } of all) {
    const { status, message } = await ask(by, sent(node))
    const isRefused = status === 403 && message.includes(`${policy}'`)
    if (!isRefused) free.push(`the ${by}, in spite of ${policy}: ${status} ${message}`)
  }
  return free
}

const PATIENCE_MS = 30_000

/** A new policy takes a second or two until the apiserver has compiled it. @throws Error that says who is free. */
export const untilConfined = (
  look: () => Promise<readonly string[]>,
  signal: AbortSignal,
): Promise<void> => {
  const lookOnce = async () => {
    const free = await look()
    return free.length === 0 ? undefined : free.join('; ')
  }
  const what = 'the policies confine our accounts'
  return waitFor({ what, limitMs: PATIENCE_MS, look: lookOnce }, signal)
}

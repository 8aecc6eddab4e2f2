// SPDX-License-Identifier: Apache-2.0
// Whether the policies of deploy/ bite: one write per policy that it alone refuses.
import type { ApiClient } from '../../../sandbox/api-client.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { waitFor } from '../patience.js'
import type { Answered, Sent } from './bed.js'
import { configMap, event, MANAGER, metadata, micro, renew } from './requests.js'

/** A request with the token of one of our accounts. */
export type Ask = (by: 'agent' | 'wrapper', sent: Sent) => Promise<Answered>

const BITE = 'edge-health-bite'

/** The wrapper's account may write nothing at all by its roles, so that its policy would have nothing to refuse. */
export const allowBite = async (plane: ControlPlane): Promise<void> => {
  const to = ['--serviceaccount=edge-system:edge-health-wrapper', '-n', 'edge-system']
  const role = ['create', 'role', BITE, '--verb=create', '--resource=configmaps']
  await plane.kubectl([...role, '-n', 'edge-system'])
  await plane.kubectl(['create', 'rolebinding', BITE, `--role=${BITE}`, ...to])
}

export type AccountTokens = Readonly<Record<'agent' | 'wrapper', string>>

const WRAPPER = '/api/v1/namespaces/edge-system/serviceaccounts/edge-health-wrapper/token'

/** An agent's token, and one of the wrapper's account beside it. */
export const accountTokens = async (
  admin: ApiClient,
  agent: string,
  signal: AbortSignal,
): Promise<AccountTokens> => {
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const { status } = await admin.post(WRAPPER, request, signal)
  return { agent, wrapper: (status as { token: string }).token }
}

/** Ask with these tokens. */
export const askWith =
  (plane: ControlPlane, tokens: AccountTokens, signal: AbortSignal): Ask =>
  async (by, { method, path, type = 'application/json', body }) => {
    const response = await fetch(`${plane.url}${path}`, {
      ...{ method, signal, body: JSON.stringify(body) },
      headers: { authorization: `Bearer ${tokens[by]}`, 'content-type': type },
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

interface Forbidden {
  readonly by: 'agent' | 'wrapper'
  readonly policy: string
  /** `node`: the one that the token is bound to. */
  readonly sent: (node: string) => Sent
}

/** Allowed by RBAC, and by dry run: nothing changes. What `edge-health-agent-others` refuses, RBAC refuses before it. */
const FORBIDDEN: readonly Forbidden[] = [
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

/** The policies that `whoIsFree` looks at. */
export const BITING: readonly string[] = FORBIDDEN.map(({ policy }) => policy)

/** Which of our policies did not refuse the write that is forbidden by it, with what came of it. */
export const whoIsFree = async (ask: Ask, node: string): Promise<readonly string[]> => {
  const free: string[] = []
  for (const { by, policy, sent } of FORBIDDEN) {
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
  const what = 'the policies confine both accounts'
  return waitFor({ what, limitMs: PATIENCE_MS, look: lookOnce }, signal)
}

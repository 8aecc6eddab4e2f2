// SPDX-License-Identifier: Apache-2.0
// Whether the policies of deploy/ bite: one write per account that only they refuse.
import type { ApiClient } from '../../../sandbox/api-client.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { waitFor } from '../patience.js'

/** A request with the token of one of our accounts; its answer's status, and what the apiserver says. */
export type Ask = (
  by: 'agent' | 'wrapper',
  sent: { method: 'PATCH' | 'POST'; path: string; type?: string; body: unknown },
) => Promise<{ readonly status: number; readonly message: string }>

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

/** Allowed by RBAC, and by dry run: nothing changes. */
const FORBIDDEN = {
  agent: {
    policy: 'edge-health-agent-nodes',
    sent: (node: string) => ({
      method: 'PATCH' as const,
      path: `/api/v1/nodes/${node}?fieldManager=edge-health-agent&dryRun=All`,
      type: 'application/merge-patch+json',
      body: { metadata: { labels: { 'example.com/forbidden': 'x' } } },
    }),
  },
  wrapper: {
    policy: 'edge-health-wrapper-writes',
    sent: () => ({
      method: 'POST' as const,
      path: '/api/v1/namespaces/edge-system/configmaps?dryRun=All',
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'bite-' } },
    }),
  },
}

/** Of our two accounts those whose forbidden write was not refused by their own policy, with what came of it. */
export const whoIsFree = async (ask: Ask, node: string): Promise<readonly string[]> => {
  const free: string[] = []
  for (const by of ['agent', 'wrapper'] as const) {
    const { policy, sent } = FORBIDDEN[by]
    const { status, message } = await ask(by, sent(node))
    const isRefused = status === 403 && message.includes(`${policy}'`)
    if (!isRefused) free.push(`the ${by}: ${status} ${message}`)
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

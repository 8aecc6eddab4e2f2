// SPDX-License-Identifier: Apache-2.0
// What agents find out themselves about the policies, by their own client: with all of them, and with each one missing.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeKubeApi } from '../../../agent/adapters/kube-api.js'
import type { KubeApi } from '../../../agent/ports/kube-api.js'
import { ApiBackoff } from '../../../agent/api-backoff.js'
import { ConfinementCheck, type Confinement } from '../../../agent/stages/write/confinement.js'
import { sleep, systemClock } from '../../../core/clock.js'
import { silentLog } from '../../../core/log.js'
import { systemRandom } from '../../../core/random.js'
import { makeCredentials } from '../../../kube/client/credentials.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { kubeconfig } from '../../../testkit/control-plane/kubeconfig.js'
import type { Bed } from './bed.js'
import { ACCOUNT_PATH, OTHER_ACCOUNT, patchPolicy, untilSo } from './policies.js'
import type { Scene } from './scene.js'

const seams = { clock: systemClock, random: systemRandom, log: silentLog }

/** The agents' own client, with the token of one. */
export const agentClient = (plane: ControlPlane, bed: Bed): KubeApi => {
  const file = join(plane.dir, 'agent.kubeconfig')
  writeFileSync(file, kubeconfig(plane.url, plane.ca, { token: bed.tokenOf('agent') }))
  return makeKubeApi(makeCredentials({ kubeconfig: file, environment: {} }, seams), seams)
}

/** What an agent finds at its first look, without the wait for that. */
const look = async (plane: ControlPlane, bed: Bed, signal: AbortSignal): Promise<Confinement> => {
  const kube = agentClient(plane, bed)
  let now = 0
  const own = { ...seams, clock: { ...systemClock, now: () => now } }
  const check = new ConfinementCheck(bed.writer, { ...own, kube, apiBackoff: new ApiBackoff(own) })
  check.review()
  now = 3_600_000
  check.review()
  try {
    while (check.current.at < now) await sleep(systemClock, 20, signal)
    return check.current
  } finally {
    await check.stop()
    await kube.close()
  }
}

interface Case {
  readonly what: string
  readonly breaks: (plane: ControlPlane) => Promise<unknown>
  readonly state: Confinement['state']
  readonly reason: RegExp
}

const CASES: readonly Case[] = [
  {
    what: 'all policies are there',
    breaks: () => Promise.resolve(),
    ...{ state: 'yes', reason: /policies refuse/ },
  },
  {
    what: 'the policy of Leases is gone',
    breaks: plane =>
      plane.kubectl(['delete', 'validatingadmissionpolicybinding', 'edge-health-agent-leases']),
    ...{ state: 'no', reason: /of its Lease: no policy/ },
  },
  {
    what: 'the policy of Leases names another account',
    breaks: plane => patchPolicy(plane, 'edge-health-agent-leases', ACCOUNT_PATH, OTHER_ACCOUNT),
    ...{ state: 'no', reason: /of its Lease: no policy/ },
  },
  {
    what: 'the policy of Nodes names another account',
    breaks: plane => patchPolicy(plane, 'edge-health-agent-nodes', ACCOUNT_PATH, OTHER_ACCOUNT),
    ...{ state: 'no', reason: /of the own Node and its status: no policy/ },
  },
  {
    what: 'the policy of Nodes leaves their status out',
    breaks: plane =>
      patchPolicy(plane, 'edge-health-agent-nodes', '/spec/matchConstraints/resourceRules/0/resources', ['nodes']), // prettier-ignore
    ...{ state: 'no', reason: /of its status: no policy/ },
  },
  {
    what: 'RBAC refuses Leases of nodes, so that nothing is known of their policy',
    breaks: plane =>
      plane.kubectl(['delete', 'rolebinding', 'edge-health-agent', '-n', 'kube-node-lease']),
    ...{ state: 'unknown', reason: /of its Lease: .*cannot patch resource "leases"/ },
  },
]

/** Each case until the agent finds it, and all is put back after it. */
export const playOwnCheck = async (scene: Scene): Promise<void> => {
  const { plane, bed, table, say, signal } = scene
  say('what agents find out themselves:')
  for (const { what, breaks, state, reason } of CASES) {
    await breaks(plane)
    const trouble = await untilSo(async () => {
      const found = await look(plane, bed, signal)
      const isRight = found.state === state && reason.test(found.reason)
      return isRight ? undefined : `${found.state}, ${found.reason}`
    }, signal)
    if (trouble === undefined) say(`  ok     ${what}: ${state}`)
    else table.failed(`${what}: not ${state} but ${trouble}`)
    await plane.kubectl(['apply', '-k', 'deploy/base'])
  }
}

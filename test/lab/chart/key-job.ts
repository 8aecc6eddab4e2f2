// SPDX-License-Identifier: Apache-2.0
// What a kubelet and the Job's controller do for the Job that makes the key, where there is neither.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Json } from '../../../sandbox/api-client.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { kubeconfig } from '../../../testkit/control-plane/kubeconfig.js'
import { waitFor } from '../patience.js'
import { command } from '../shell.js'

const NAME = 'edge-health-make-key'
const SYSTEM = '/api/v1/namespaces/edge-system'
const JOBS = '/apis/batch/v1/namespaces/edge-system/jobs'
const PATIENCE_MS = 120_000

interface Parts {
  readonly plane: ControlPlane
  /** The bundle that the image has. */
  readonly script: string
  readonly signal: AbortSignal
}

/** What came of it. */
export interface KeyJobOutcome {
  /** What the program said. */
  readonly made: string
  /** What the apiserver answered to other requests with the same token. */
  readonly others: readonly number[]
}

interface JobSpec {
  readonly template: {
    readonly spec: {
      readonly serviceAccountName: string
      readonly containers: readonly [{ readonly args: readonly string[] }]
    }
  }
}

const find = async ({ plane, signal }: Parts): Promise<JobSpec> => {
  let spec: JobSpec | undefined
  const look = async () => {
    const { items } = (await plane.admin.get(JOBS, signal)) as unknown as {
      items: readonly { readonly metadata: { readonly name: string }; readonly spec: JobSpec }[]
    }
    spec = items.find(({ metadata }) => metadata.name === NAME)?.spec
    return spec === undefined ? `${items.length} other Jobs` : undefined
  }
  await waitFor({ what: `helm makes the Job ${NAME}`, limitMs: PATIENCE_MS, look }, signal)
  return spec!
}

const tokenOf = async ({ plane, signal }: Parts, account: string): Promise<string> => {
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const path = `${SYSTEM}/serviceaccounts/${account}/token`
  const { status } = await plane.admin.post(path, request, signal)
  return (status as { token: string }).token
}

const complete = async ({ plane, signal }: Parts): Promise<Json> => {
  const { minor } = await plane.admin.get('/version', signal)
  // Since 1.31 a Job that is complete says so in two steps.
  const before = Number.parseInt(String(minor)) < 31 ? [] : ['SuccessCriteriaMet']
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  const condition = (type: string) => ({
    ...{ type, status: 'True', lastProbeTime: now, lastTransitionTime: now },
  })
  const status = {
    ...{ startTime: now, completionTime: now, succeeded: 1 },
    conditions: [...before, 'Complete'].map(condition),
  }
  return plane.admin.patch(`${JOBS}/${NAME}/status`, 'merge', { status }, signal)
}

/** A policy takes a second or two to bite. */
const untilConfined = (ask: () => Promise<number>, signal: AbortSignal): Promise<void> => {
  const look = async () => {
    const status = await ask()
    return status === 403 ? undefined : `status ${status}`
  }
  const what = "the Job's account may make no other Secret"
  return waitFor({ what, limitMs: PATIENCE_MS, look }, signal)
}

/** Wait for the Job, run its program with a token of its account, and say that it is done. */
export const playKeyJob = async (parts: Parts): Promise<KeyJobOutcome> => {
  const { plane, script, signal } = parts
  const { serviceAccountName, containers } = (await find(parts)).template.spec
  const token = await tokenOf(parts, serviceAccountName)
  const send = async (method: string, path: string, body?: Json): Promise<number> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const more = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(`${plane.url}${path}`, { method, headers, signal, ...more })
    await answer.arrayBuffer()
    return answer.status
  }
  const other = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'other' } }
  const makeOther = () => send('POST', `${SYSTEM}/secrets?dryRun=All`, other)
  await untilConfined(makeOther, signal)
  const path = join(plane.dir, `${NAME}.kubeconfig`)
  writeFileSync(path, kubeconfig(plane.url, plane.ca, { token }))
  const [{ args }] = containers
  const made = await command(process.execPath, [script, ...args, `--kubeconfig=${path}`])
  const others = [
    await makeOther(),
    await send('GET', `${SYSTEM}/secrets/edge-health-keys`),
    await send('POST', `${SYSTEM}/configmaps`, { ...other, kind: 'ConfigMap' }),
  ]
  await complete(parts)
  return { made: made.trim(), others }
}

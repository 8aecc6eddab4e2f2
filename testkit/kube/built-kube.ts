// SPDX-License-Identifier: Apache-2.0
import type { Test } from 'tap'
import { makeKubeApi } from '../../agent/adapters/kube-api.js'
import { makeCredentials, type CredentialOptions } from '../../kube/client/credentials.js'
import { FakeClock } from '../fake-clock.js'
import { recordingLog } from '../recording-log.js'
import { answer, startScripted, type Step } from '../http/scripted-server.js'
import { seededRandom } from '../seeded-random.js'

/** A signal that never aborts. */
export const never = new AbortController().signal

/** The smallest Node, and the answer that carries it. */
export const rawNode = { metadata: { name: 'n1', uid: 'u1', resourceVersion: '7' } }
export const ok = answer(rawNode)

/** The real adapter on a clock that stands still. */
export const build = (options: CredentialOptions) => {
  const clock = new FakeClock()
  const log = recordingLog()
  const credentials = makeCredentials(options, { clock, log })
  const api = makeKubeApi(credentials, { clock, log, random: seededRandom(1) })
  return { clock, log, credentials, api }
}

/** A server that answers with these steps, and the adapter that asks it over plain HTTP. */
export const startPlain = async (t: Test, ...steps: Step[]) => {
  const server = await startScripted()
  server.script(...steps)
  const built = build({
    masterUrl: server.url,
    environment: {},
    serviceAccountFolder: '/nonexistent',
  })
  t.teardown(async () => {
    await built.api.close()
    await server.close()
  })
  return { server, ...built }
}

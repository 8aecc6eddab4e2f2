// SPDX-License-Identifier: Apache-2.0
// Objects of any server, as tests look at them.
import { sleep, systemClock } from '../../core/clock.js'
import { silentLog, type Logger } from '../../core/log.js'
import { fixedCredentials } from '../../kube/client/fixed-credentials.js'
import { makeResourceClient } from '../../kube/client/http-resource-client.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { ResourceName, ResourceType } from '../../kube/client/resource.js'
import { seededRandom } from '../seeded-random.js'
import type { SceneServer } from './client-scenes.js'

export interface Raw {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly generation?: number
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly finalizers?: readonly string[]
    readonly ownerReferences?: readonly { readonly uid: string }[]
    readonly managedFields?: readonly { readonly manager: string }[]
  }
  readonly spec?: unknown
  readonly status?: unknown
}

/** What is at a path of an object: `spec.ports.0.port`. */
export const at = (value: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (inner, key) =>
        typeof inner === 'object' && inner !== null
          ? (inner as Readonly<Record<string, unknown>>)[key]
          : undefined,
      value,
    )

/** Any object. */
export type Fields = Readonly<Record<string, unknown>>

export const never = new AbortController().signal
const PATIENCE_MS = 15_000

export const rawType = (resource: ResourceName): ResourceType<Raw> => ({
  ...resource,
  parse: raw => raw as Raw,
})

/** A client of a server under a name of its own. */
export const clientOf = (
  server: Pick<SceneServer, 'url' | 'token' | 'ca'>,
  fieldManager: string,
  log: Logger = silentLog,
): ResourceClient =>
  makeResourceClient(
    {
      credentials: fixedCredentials({ ...server, server: server.url }),
      ...{ clock: systemClock, random: seededRandom(1), log },
    },
    { fieldManager },
  )

/** @throws when it does not come true in 15 s */
export const until = async (
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  patienceMs = PATIENCE_MS,
): Promise<void> => {
  const deadline = systemClock.now() + patienceMs
  while (!(await isTrue())) {
    if (systemClock.now() > deadline) throw new Error(`waited in vain: ${what}`)
    await sleep(systemClock, 20, never)
  }
}

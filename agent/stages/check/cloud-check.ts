// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { isAnsweredByCloud, type KubeStatusError } from '../../../core/errors.js'
import { namesThisHost } from '../../../core/loopback.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { KubeApi } from '../../ports/kube-api.js'
import { makeApiCheck } from './cloud-link.js'

type CheckOptions = Pick<
  AgentOptions,
  | 'cloudCheck'
  | 'cloudCheckFailures'
  | 'cloudCheckPeriodMs'
  | 'cloudCheckTimeoutMs'
  | 'namespace'
  | 'nodeName'
>

/** What the check needs of the API. */
export type CheckedApi = Pick<
  KubeApi,
  'getLease' | 'ping' | 'reconnect' | 'renewAgentLease' | 'server' | 'tryRenewal'
>

/** One round trip; rejects when the cloud did not answer. */
type Check = (signal: AbortSignal) => Promise<void>

/** Where KubeEdge's MetaServer listens. */
const META_SERVER_PORT = '10550'

const isMetaServer = ({ host, port }: URL): boolean =>
  port === META_SERVER_PORT && namesThisHost(host, 'localhost')

/** A refusal or a conflict is an answer of the cloud, too. A 429 is not: an edge's own API may give it as well. */
const isAnswer = (error: unknown): error is KubeStatusError =>
  isAnsweredByCloud(error) && error.status !== 429

const makeWriteCheck = (kube: Pick<KubeApi, 'renewAgentLease'>, options: CheckOptions): Check => {
  const { cloudCheckPeriodMs, cloudCheckFailures, namespace, nodeName } = options
  const seconds = Math.ceil((cloudCheckPeriodMs * (cloudCheckFailures + 2)) / 1_000)
  const lease = {
    ...{ namespace, name: `edge-health-${nodeName}`, holder: nodeName },
    durationSeconds: Math.max(1, seconds),
  }
  return async signal => {
    try {
      await kube.renewAgentLease(lease, signal)
    } catch (error) {
      if (!isAnswer(error)) throw error
    }
  }
}

/** Whether it may be a cache on this machine: SuperEdge's lite-apiserver has a loopback or a link-local address. */
const mayBeCache = ({ hostname }: URL): boolean =>
  namesThisHost(hostname, 'localhost') || hostname.startsWith('169.254.')

/** As `isAnswer`, except for 404, which a cache itself answers for an object that it has not stored. */
const isAnswerPastCache = (error: unknown): boolean => isAnswer(error) && error.status !== 404

/** Rejects unless the own Lease is served, or the apiserver itself refuses it. */
export const makeLeaseCheck =
  (
    kube: Pick<KubeApi, 'getLease' | 'server' | 'tryRenewal'>,
    { nodeName }: Pick<CheckOptions, 'nodeName'>,
  ): Check =>
  async signal => {
    const isPastCache = mayBeCache(await kube.server())
    try {
      // Caches answer reads in the cloud's place; some answer writes, too, with the stored object.
      if (isPastCache) await kube.tryRenewal(nodeName, signal)
      else await kube.getLease(nodeName, signal)
    } catch (error) {
      if (!(isPastCache ? isAnswerPastCache(error) : isAnsweredByCloud(error))) throw error
    }
  }

/** How the cloud is asked for a sign of life, past any cache on this machine. */
export const makeCloudCheck = (options: CheckOptions, kube: CheckedApi, clock: Clock): Check => {
  const livez = makeApiCheck({
    clock,
    slowMs: options.cloudCheckTimeoutMs / 2,
    ping: signal => kube.ping(signal),
    askLease: makeLeaseCheck(kube, options),
    reconnect: () => kube.reconnect(),
  })
  const write = makeWriteCheck(kube, options)
  switch (options.cloudCheck) {
    case 'livez':
      return livez
    case 'write':
      return write
    case 'auto':
      return async signal => (isMetaServer(await kube.server()) ? write(signal) : livez(signal))
  }
}

// SPDX-License-Identifier: Apache-2.0
import { isAnsweredByCloud } from '../../../core/errors.js'
import { namesThisHost } from '../../../core/loopback.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { KubeApi } from '../../ports/kube-api.js'
import { makeApiCheck } from './cloud-link.js'

type CheckOptions = Pick<
  AgentOptions,
  'cloudCheck' | 'cloudCheckFailures' | 'cloudCheckPeriodMs' | 'namespace' | 'nodeName'
>

/** One round trip; rejects when the cloud did not answer. */
type Check = (signal: AbortSignal) => Promise<void>

/** Where KubeEdge's MetaServer listens. */
const META_SERVER_PORT = '10550'

const isMetaServer = ({ host, port }: URL): boolean =>
  port === META_SERVER_PORT && namesThisHost(host, 'localhost')

/** A refusal or a conflict is an answer of the cloud, too; that there were too many requests, an edge's own API says as well. */
const isAnswer = (error: unknown): boolean => isAnsweredByCloud(error) && error.status !== 429

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

/** Whether what answers there may be a cache on this machine: SuperEdge's lite-apiserver has a loopback or a link-local address. */
const mayBeCache = ({ hostname }: URL): boolean =>
  namesThisHost(hostname, 'localhost') || hostname.startsWith('169.254.')

/** Changes nothing. */
const NOTHING = { type: 'merge', body: {} } as const

const makeLivezCheck = (
  kube: Pick<KubeApi, 'getLease' | 'ping' | 'server' | 'tryPatch'>,
  { nodeName }: CheckOptions,
): Check =>
  makeApiCheck({
    ping: signal => kube.ping(signal),
    // A cache answers reads in the cloud's place, and no writes.
    askLease: async signal =>
      mayBeCache(await kube.server())
        ? kube.tryPatch('lease', nodeName, NOTHING, signal)
        : kube.getLease(nodeName, signal),
  })

/** How the cloud is asked for a sign of life, past any cache on this machine. */
export const makeCloudCheck = (
  options: CheckOptions,
  kube: Pick<KubeApi, 'getLease' | 'ping' | 'renewAgentLease' | 'server' | 'tryPatch'>,
): Check => {
  const livez = makeLivezCheck(kube, options)
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

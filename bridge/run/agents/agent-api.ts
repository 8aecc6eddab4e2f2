// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { InvalidInputError } from '../../../core/errors.js'
import type { JsonMap } from '../../../core/json.js'
import { mapAt } from '../../../core/json-at.js'
import type { NodeName } from '../../../core/ids.js'
import type {
  ResourceClient,
  TokenClient,
  TokenClients,
} from '../../../kube/client/resource-client.js'
import type { WriteGuard } from '../../../kube/client/write.js'
import type { PlacedPod } from '../../model/location/location-cache.js'
import { TOKENS } from '../upstream/objects.js'

/** The Kubernetes API with the rights of the nodes' agents. */
export interface AgentApi {
  /** Namespace of the agents' Pods, ConfigMaps and keys. */
  readonly namespace: string
  /** A client with the rights of an agent's Pod. Rejects as ResourceClient.create does. */
  as(pod: PlacedPod, signal: AbortSignal): Promise<TokenClient>
  /** The apiserver refused the Pod's token: the next request gets a new one. */
  refused(pod: PlacedPod): void
}

export interface AgentApiSeams {
  readonly client: Pick<ResourceClient, 'create'>
  readonly bearers: Pick<TokenClients, 'withToken'>
  readonly clock: Clock
  /** Checked right before a token is created. */
  readonly guard: WriteGuard
}

const LIFE_SECONDS = 3_600
/** A token is used for this share of its lifetime, since the apiserver's clock may differ. */
const SHARE = 0.8

interface Kept {
  readonly uid: string
  readonly client: Promise<TokenClient>
  /** Clock ms. */
  until: number
}

const bodyOf = ({ name, uid }: PlacedPod): JsonMap => ({
  ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
  spec: {
    expirationSeconds: LIFE_SECONDS,
    boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
  },
})

/**
 * Tokens of the agents' own Pods, which the apiserver binds to Pod and node. A request with such a token has exactly the
 * rights of that agent, and its name in the audit log. Kept in memory only.
 */
export class AgentTokens implements AgentApi {
  readonly namespace: string
  readonly #seams: AgentApiSeams
  readonly #kept = new Map<NodeName, Kept>()

  constructor(namespace: string, seams: AgentApiSeams) {
    this.namespace = namespace
    this.#seams = seams
  }

  as(pod: PlacedPod, signal: AbortSignal): Promise<TokenClient> {
    const now = this.#seams.clock.now()
    const known = this.#kept.get(pod.node)
    if (known?.uid === pod.uid && known.until > now) return known.client
    for (const [node, { until }] of this.#kept) if (until <= now) this.#kept.delete(node)
    const kept: Kept = {
      uid: pod.uid,
      client: this.#make(pod, signal, seconds => (kept.until = now + seconds * 1_000 * SHARE)),
      until: now + LIFE_SECONDS * 1_000 * SHARE,
    }
    this.#kept.set(pod.node, kept)
    // The next caller tries again.
    kept.client.catch(() => this.#drop(pod.node, kept))
    return kept.client
  }

  refused({ node, uid }: PlacedPod): void {
    const kept = this.#kept.get(node)
    if (kept?.uid === uid) this.#kept.delete(node)
  }

  #drop(node: NodeName, kept: Kept): void {
    if (this.#kept.get(node) === kept) this.#kept.delete(node)
  }

  async #make(
    pod: PlacedPod,
    signal: AbortSignal,
    lives: (seconds: number) => void,
  ): Promise<TokenClient> {
    const { client, bearers, guard } = this.#seams
    const { namespace, serviceAccount: name } = pod
    const write = { body: bodyOf(pod), guard }
    const made = await client.create(TOKENS, { namespace, name }, write, signal)
    const { token } = mapAt(made, 'status')
    if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
      throw new InvalidInputError('TokenRequest: status.token', 'must be a token', typeof token)
    const { expirationSeconds } = mapAt(made, 'spec')
    // The server may shorten the lifetime; one that it lengthens is renewed at the usual time.
    if (typeof expirationSeconds === 'number' && expirationSeconds < LIFE_SECONDS)
      lives(Math.max(0, expirationSeconds))
    return bearers.withToken(token)
  }
}

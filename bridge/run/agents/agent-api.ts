// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { InvalidInputError } from '../../../core/errors.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import type { NodeName } from '../../../core/ids.js'
import type {
  ResourceClient,
  TokenClient,
  TokenClients,
} from '../../../kube/client/resource-client.js'
import type { WriteGuard } from '../../../kube/client/write.js'
import type { PlacedPod } from '../../model/location/location-cache.js'
import { TOKENS } from '../upstream/objects.js'

/** The Kubernetes API as the agents of nodes may use it, each in its own name. */
export interface AgentApi {
  /** Of the agents' Pods, ConfigMaps and keys. */
  readonly namespace: string
  /** In the name of an agent's Pod, with its rights. Rejects as a create does. */
  as(pod: PlacedPod, signal: AbortSignal): Promise<TokenClient>
  /** The apiserver did not take the Pod's token: the next request has another one. */
  refused(pod: PlacedPod): void
}

export interface AgentApiSeams {
  readonly client: Pick<ResourceClient, 'create'>
  readonly bearers: Pick<TokenClients, 'withToken'>
  readonly clock: Clock
  /** Asked right before a token is made. */
  readonly guard: WriteGuard
}

const LIFE_SECONDS = 3_600
/** Of its life, a token is used that long: the apiserver's clock is another one. */
const SHARE = 0.8

interface Kept {
  readonly uid: string
  readonly client: Promise<TokenClient>
  /** Clock ms. */
  until: number
}

const mapAt = (map: JsonMap, key: string): JsonMap => (isMap(map[key]) ? map[key] : {})

const bodyOf = ({ name, uid }: PlacedPod): JsonMap => ({
  ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
  spec: {
    expirationSeconds: LIFE_SECONDS,
    boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
  },
})

/**
 * Tokens of agents' own Pods, which the apiserver binds to Pod and node: with one, a request has the rights of that agent,
 * what policies allow it, and its name in the audit log. Kept in memory alone.
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
    // Whoever asks next tries again.
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
    // The server may make it shorter; what it makes longer is renewed all the same.
    if (typeof expirationSeconds === 'number' && expirationSeconds < LIFE_SECONDS)
      lives(Math.max(0, expirationSeconds))
    return bearers.withToken(token)
  }
}

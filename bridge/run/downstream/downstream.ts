// SPDX-License-Identifier: Apache-2.0
import type { ControllerParts } from '../../../controller/program.js'
import { aborted } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import type { Metric } from '../../../net/metrics-text.js'
import type { NodeLink } from '../../hub/node-link.js'
import type { EndReason } from '../../hub/session.js'
import type { Message } from '../../model/message/message.js'
import type { Resource } from '../../model/resource/resource.js'
import type { VouchMode } from '../../model/vouch/gap.js'
import type { Downstream, DownstreamSeams } from '../ports.js'
import { ObjectSyncs } from '../recorder/object-syncs.js'
import type { RecordStore } from '../recorder/record-disk.js'
import { RecordMaps } from '../recorder/record-map.js'
import { GoneRecords } from '../recorder/gone-records.js'
import { Recorder } from '../recorder/recorder.js'
import { LeaseRenewer } from '../vouch/lease-renewer.js'
import { Cluster } from './cluster.js'
import { downstreamMetrics, downstreamStatus, explainNode } from './downstream-view.js'
import { Sender } from './sender.js'

/** The options of downstream. */
export interface DownstreamOptions {
  /** Namespace of the records of what edges hold. */
  readonly namespace: string
  /** This process's own copy of the records. */
  readonly disk: RecordStore
  readonly adoptsObjectSyncs: boolean
  readonly writesObjectSyncs: boolean
  readonly vouch: VouchMode
}

/** What exists only during one term. */
export interface TermParts {
  readonly sender: Sender
  readonly recorder: Recorder
  readonly renewer: LeaseRenewer
}

class WorkingDownstream implements Downstream {
  readonly #options: DownstreamOptions
  readonly #seams: DownstreamSeams
  readonly #cluster: Cluster
  readonly #connected = new Set<NodeName>()
  #parts: TermParts | undefined

  constructor(options: DownstreamOptions, seams: DownstreamSeams) {
    this.#options = options
    this.#seams = seams
    this.#cluster = new Cluster({
      ...seams,
      isConnected: node => this.#connected.has(node),
      changed: (node, place) => this.#parts?.sender.changed(node, place),
      unread: (node, place) => this.#parts?.sender.ask(node, place),
    })
  }

  get informers(): ControllerParts['informers'] {
    return this.#cluster.informers
  }

  get status(): object {
    return downstreamStatus(this.#parts)
  }

  get metrics(): readonly Metric[] {
    return downstreamMetrics(this.#parts)
  }

  hasNode(node: NodeName): boolean {
    return this.#cluster.hasNode(node)
  }

  servedUid(node: NodeName): string | undefined {
    return this.#cluster.servedUid(node)
  }

  connected(link: NodeLink): void {
    this.#connected.add(link.node)
    this.#parts?.renewer.heard(link.node)
    this.#cluster.nodeCame(link.node)
    this.#parts?.sender.connected(link)
  }

  acknowledged(link: NodeLink, message: Message): void {
    this.#parts?.sender.acknowledged(link, message)
  }

  ended(link: NodeLink, why: EndReason): void {
    const { node } = link
    this.#connected.delete(node)
    this.#parts?.sender.ended(link)
    if (why !== 'another connection of the node') this.#cluster.nodeLeft(node)
    if (why !== 'the bridge is leaving') this.#parts?.renewer.lost(node)
  }

  answering(resource: Resource, object: JsonMap): void {
    this.#parts?.sender.answering(resource, object)
  }

  podUnknown(pod: Resource, uid: string): void {
    this.#parts?.sender.podUnknown(pod, uid)
  }

  leaseSeen(node: NodeName, lease: JsonMap): void {
    this.#parts?.renewer.leaseSeen(node, lease)
  }

  async lead(term: AbortSignal): Promise<void> {
    const parts = this.#begin(term)
    this.#parts = parts
    const cleaning = this.#cleanUp(parts.recorder, term)
    for (const node of this.#cluster.nodes) {
      this.#cluster.nodeCame(node)
      if (!this.#connected.has(node)) parts.renewer.lost(node)
    }
    await aborted(term)
    this.#parts = undefined
    await Promise.all([parts.renewer.stop(), parts.sender.stop(), cleaning])
  }

  #cleanUp(recorder: Recorder, term: AbortSignal): Promise<void> {
    const cluster = this.#cluster
    const records = new GoneRecords({
      ...this.#seams,
      recorded: () => cluster.recorded(this.#options.namespace),
      isKnown: node => cluster.isEdge(node) || this.#connected.has(node),
      drop: (node, signal) => recorder.drop(node, signal),
    })
    return records.run(term)
  }

  explain(node: NodeName): object {
    return explainNode(node, this.#parts, this.#seams.clock)
  }

  #begin(term: AbortSignal): TermParts {
    const { client, clock, random, log, guard } = this.#seams
    const { namespace, disk, vouch } = this.#options
    const world = { client, clock, random, log }
    const recorder = new Recorder(this.#options, {
      ...{ clock, random, log, fresh: random.bits64().toString(16) },
      disk,
      maps: new RecordMaps({ client, namespace, guard }),
      syncs: new ObjectSyncs({ client, guard }),
    })
    const cluster = this.#cluster
    const conditionsOf = (node: NodeName) => cluster.conditionsOf(node)
    return {
      recorder,
      sender: new Sender({ ...world, cluster, recorder }, term),
      renewer: new LeaseRenewer(vouch, { ...world, guard, conditionsOf }),
    }
  }
}

/** Keeps edges in sync with the cluster, and renews the Leases of edges that are disconnected for a moment. */
export const makeDownstream = (options: DownstreamOptions, seams: DownstreamSeams): Downstream =>
  new WorkingDownstream(options, seams)

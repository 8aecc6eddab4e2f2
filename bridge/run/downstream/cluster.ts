// SPDX-License-Identifier: Apache-2.0
import { Informer } from '../../../controller/informer.js'
import type { ControllerParts } from '../../../controller/program.js'
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import type { Logger } from '../../../core/log.js'
import type { NodeCondition } from '../../../core/node.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import type { LocationCache, Need } from '../../model/location/location-cache.js'
import { isNews } from '../../model/merge/change.js'
import type { Held, Place } from '../../model/record/held.js'
import type { DownstreamType } from '../../model/route/downstream.js'
import { recordedNode, WRITER_ANNOTATION } from '../recorder/record-map.js'
import { objectsOf } from '../upstream/objects.js'
import {
  contentView,
  edgeNodeView,
  podView,
  type ContentView,
  type EdgeNodeView,
  type ObjectState,
  type PodView,
} from './views.js'

/** The label of edge nodes. */
export const EDGE_LABEL = 'node-role.kubernetes.io/edge'

export interface ClusterSeams {
  readonly client: Pick<ResourceClient, 'watch'>
  readonly log: Logger
  readonly locations: LocationCache
  /** Whether a node is connected to this bridge. */
  readonly isConnected: (node: NodeName) => boolean
  /** The object that a node should hold under this type and name may have changed. */
  readonly changed: (node: NodeName, place: Place) => void
  /** A pod was seen before its node was known to be an edge node, so its content was not kept and has to be read. */
  readonly unread: (node: NodeName, place: Place) => void
}

/** An object that a node should hold. */
export interface Wanted {
  readonly uid: string
  readonly held: Held
  /** As JSON in the form that edges are sent; undefined when it has to be read. */
  readonly text: string | undefined
}

const keyOf = ({ namespace, name }: Place): string =>
  namespace === '' ? name : `${namespace}/${name}`

const podPlace = ({ namespace, name }: PodView): Place => ({ type: 'pod', namespace, name })

const nodePlace = (name: string): Place => ({ type: 'node', namespace: '', name })

const isSent = (type: string): type is DownstreamType => type === 'configmap' || type === 'secret'

/** What edge nodes should hold, as the cluster has it now. Fills the LocationCache. */
export class Cluster {
  readonly #seams: ClusterSeams
  readonly #nodes: Informer<EdgeNodeView>
  readonly #pods: Informer<PodView>
  readonly #contents: Readonly<Record<'configmap' | 'secret', Informer<ContentView>>>
  /** Connected nodes that were edge nodes since they connected, and their Nodes' uids: their pods count even after the Node lost the label. */
  readonly #served = new Map<NodeName, string>()

  constructor(seams: ClusterSeams) {
    this.#seams = seams
    const { client, log } = seams
    this.#nodes = new Informer({
      ...{ client, log, form: 'full', resource: objectsOf('node') },
      labelSelector: EDGE_LABEL,
      project: edgeNodeView,
      onChange: (key, before, after) => this.#nodeChanged(key as NodeName, before, after),
    })
    this.#pods = new Informer({
      ...{ client, log, form: 'full', resource: objectsOf('pod') },
      fieldSelector: 'spec.nodeName!=',
      project: raw => podView(raw, node => this.isEdge(node)),
      indices: { node: ({ node }) => [node] },
      onChange: (_key, before, after) => this.#podChanged(before, after),
    })
    const contents = (type: 'configmap' | 'secret'): Informer<ContentView> =>
      new Informer({
        ...{ client, log, form: 'metadata', resource: objectsOf(type) },
        project: raw => contentView(raw, WRITER_ANNOTATION),
        onChange: key => this.#contentChanged(type, key),
      })
    this.#contents = { configmap: contents('configmap'), secret: contents('secret') }
  }

  get informers(): ControllerParts['informers'] {
    const [nodes, pods] = [this.#nodes, this.#pods]
    return {
      nodes,
      pods: {
        // Which pods are kept depends on which nodes are edge nodes.
        start: () => void nodes.synced.then(isSynced => (isSynced ? pods.start() : undefined)),
        stop: () => pods.stop(),
        synced: pods.synced,
        get status() {
          return pods.status
        },
      },
      configmaps: this.#contents.configmap,
      secrets: this.#contents.secret,
    }
  }

  /** The edge nodes. */
  get nodes(): readonly NodeName[] {
    return this.#nodes.keys() as readonly NodeName[]
  }

  /** The uid of the edge node's Node that a connected node was last served as. */
  servedUid(node: NodeName): string | undefined {
    return this.#served.get(node)
  }

  hasNode(node: NodeName): boolean {
    return this.#nodes.get(node) !== undefined
  }

  /**
   * Whether its pods count. A connection alone does not make a node an edge node: somebody with a token for edges may have
   * taken the name of a node of the control plane that had yet to join.
   */
  isEdge(node: NodeName): boolean {
    return this.hasNode(node) || this.#served.has(node)
  }

  /** The peers' conditions of a node; undefined when there is no such edge node. */
  conditionsOf(node: NodeName): readonly NodeCondition[] | undefined {
    return this.#nodes.get(node)?.conditions
  }

  /** Who last wrote the record in this ConfigMap; undefined when there is none or it does not say. */
  writerOf(namespace: string, name: string): string | undefined {
    const { annotations } = this.#contents.configmap.get(`${namespace}/${name}`) ?? {}
    return annotations?.[WRITER_ANNOTATION]
  }

  /** Nodes that have a record in this namespace. */
  recorded(namespace: string): readonly NodeName[] {
    const start = `${namespace}/`
    return this.#contents.configmap.keys().flatMap(key => {
      const name = key.startsWith(start) ? key.slice(start.length) : ''
      const node = recordedNode(name)
      return node === undefined || this.writerOf(namespace, name) === undefined ? [] : [node]
    })
  }

  /** The object that a node should hold under this type and name; undefined when there is none. */
  wanted(node: NodeName, place: Place): Wanted | undefined {
    const state = this.#stateOf(node, place)
    if (state === undefined) return undefined
    const { uid, version, print } = state
    const { type, namespace, name } = place
    const { text } = state as Partial<PodView>
    return { uid, held: { type, namespace, name, version, print }, text }
  }

  /** Everything that a node should hold, by uid. */
  wantedOf(node: NodeName): ReadonlyMap<string, Wanted> {
    const places = [
      nodePlace(node),
      ...this.#pods.byIndex('node', node).map(podPlace),
      ...this.#seams.locations.needsOf(node).flatMap(need => this.#placeOf(need)),
    ]
    const wanted = places.map(place => this.wanted(node, place)).filter(one => one !== undefined)
    return new Map(wanted.map(one => [one.uid, one]))
  }

  /**
   * A node connected or became an edge node: its pods count from now on, and those that were seen before have to be read.
   */
  nodeCame(node: NodeName): void {
    const known = this.#nodes.get(node)
    if (known === undefined) return
    if (this.#seams.isConnected(node)) this.#served.set(node, known.uid)
    for (const pod of this.#pods.byIndex('node', node))
      if (pod.text === undefined) this.#seams.unread(node, podPlace(pod))
      else if (this.#seams.locations.podOf(pod.uid) === undefined) this.#locate(pod)
  }

  /** A node disconnected: if it is not an edge node, its pods no longer count. */
  nodeLeft(node: NodeName): void {
    this.#served.delete(node)
    if (!this.hasNode(node)) this.#seams.locations.removeNode(node)
  }

  /** A pod was read whose content had not been kept. */
  podRead(raw: JsonMap): void {
    const view = podView(raw, node => this.isEdge(node))
    // Of a pod that is on no edge node any more nothing is kept.
    if (view?.text === undefined) return
    const known = this.#pods.get(keyOf(podPlace(view)))
    // Anything that the watch reported since then is newer and counts already.
    if (known?.uid === view.uid && known.text === undefined) this.#locate(view)
  }

  #stateOf(node: NodeName, place: Place): ObjectState | undefined {
    const { type, namespace, name } = place
    if (type === 'node') return name === node ? this.#nodes.get(name) : undefined
    const key = keyOf(place)
    if (type === 'pod') {
      const pod = this.#pods.get(key)
      return pod?.node === node ? pod : undefined
    }
    const isNeeded = this.#seams.locations.needOf(node, type, namespace, name) !== undefined
    return isNeeded ? this.#contents[type].get(key) : undefined
  }

  #placeOf({ type, namespace, name }: Need): readonly Place[] {
    return isSent(type) ? [{ type, namespace, name }] : []
  }

  #nodeChanged(
    node: NodeName,
    before: EdgeNodeView | undefined,
    after: EdgeNodeView | undefined,
  ): void {
    // The pods of a deleted Node are deleted one by one, and removing the label ends no pod, so the edge keeps them for now.
    if (after === undefined && !this.#seams.isConnected(node))
      this.#seams.locations.removeNode(node)
    if (before === undefined) this.nodeCame(node)
    if (after !== undefined && isNews(before, after)) this.#seams.changed(node, nodePlace(node))
  }

  #podChanged(before: PodView | undefined, after: PodView | undefined): void {
    if (after?.text === undefined) {
      const { uid } = (before ?? after)!
      this.#needsChanged(this.#seams.locations.removePod(uid))
    } else this.#locate(after)
    if (!isNews(before, after) && before?.node === after?.node) return
    for (const view of [before, after])
      if (view !== undefined) this.#seams.changed(view.node, podPlace(view))
  }

  #locate({ text, node }: PodView): void {
    const pod = JSON.parse(text!) as JsonMap
    const { begun, ended } = this.#seams.locations.setPod(pod, node)
    this.#needsChanged([...begun, ...ended])
  }

  #needsChanged(needs: readonly Need[]): void {
    for (const need of needs)
      for (const place of this.#placeOf(need)) this.#seams.changed(need.node, place)
  }

  #contentChanged(type: 'configmap' | 'secret', key: string): void {
    const [namespace = '', name = ''] = key.split('/')
    for (const node of this.#seams.locations.usersOf(type, namespace, name))
      this.#seams.changed(node, { type, namespace, name })
  }
}

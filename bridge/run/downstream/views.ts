// SPDX-License-Identifier: Apache-2.0
import { parseNodeName, type NodeName } from '../../../core/ids.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { PEER_HEALTH } from '../../../core/marks.js'
import type { NodeCondition } from '../../../core/node.js'
import { printOf } from '../../model/merge/change.js'
import { metadataOf, tidyObject } from '../../model/merge/tidy.js'

/** One state of one object. */
export interface ObjectState {
  readonly uid: string
  readonly version: string
  /** See `printOf`; '' when the content is not compared. */
  readonly print: string
}

/** A pod that is assigned to a node. */
export interface PodView extends ObjectState {
  readonly namespace: string
  readonly name: string
  readonly node: NodeName
  /** As JSON in the form that edges are sent; undefined when its node was not an edge node at that time. */
  readonly text: string | undefined
}

/** An edge node. */
export interface EdgeNodeView extends ObjectState {
  /** The peers' condition; others are not kept. */
  readonly conditions: readonly NodeCondition[]
}

/** A ConfigMap or a Secret without its content. */
export interface ContentView extends ObjectState {
  readonly annotations: Readonly<Record<string, string>>
}

/** A text field of an object's metadata; '' when missing or not text. */
export const metadataText = (object: JsonMap, key: string): string => {
  const { [key]: value } = metadataOf(object)
  return typeof value === 'string' ? value : ''
}

const stateOf = (raw: JsonMap): Omit<ObjectState, 'print'> => ({
  uid: metadataText(raw, 'uid'),
  version: metadataText(raw, 'resourceVersion'),
})

/** @returns undefined for a pod that is not assigned to a node */
export const podView = (raw: unknown, isEdge: (node: NodeName) => boolean): PodView | undefined => {
  if (!isMap(raw)) return undefined
  const { nodeName }: JsonMap = isMap(raw['spec']) ? raw['spec'] : {}
  if (typeof nodeName !== 'string' || nodeName === '') return undefined
  const node = parseNodeName(nodeName)
  const isRead = isEdge(node)
  return {
    ...stateOf(raw),
    namespace: metadataText(raw, 'namespace'),
    name: metadataText(raw, 'name'),
    node,
    print: isRead ? printOf('pod', raw) : '',
    text: isRead ? JSON.stringify(tidyObject('pod', raw)) : undefined,
  }
}

const isCondition = (value: unknown): value is NodeCondition =>
  isMap(value) && value['type'] === PEER_HEALTH

export const edgeNodeView = (raw: unknown): EdgeNodeView | undefined => {
  if (!isMap(raw)) return undefined
  const { conditions }: JsonMap = isMap(raw['status']) ? raw['status'] : {}
  return {
    ...stateOf(raw),
    print: printOf('node', raw),
    conditions: Array.isArray(conditions) ? conditions.filter(isCondition) : [],
  }
}

/** @param kept the annotation to keep; all others are left out */
export const contentView = (raw: unknown, kept: string): ContentView | undefined => {
  if (!isMap(raw)) return undefined
  const { annotations }: JsonMap = isMap(raw['metadata']) ? raw['metadata'] : {}
  const value = isMap(annotations) ? annotations[kept] : undefined
  return {
    ...stateOf(raw),
    print: '',
    annotations: typeof value === 'string' ? { [kept]: value } : NO_ANNOTATIONS,
  }
}

const NO_ANNOTATIONS: Readonly<Record<string, string>> = Object.freeze({})

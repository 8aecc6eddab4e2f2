// SPDX-License-Identifier: Apache-2.0

/** Where a message comes from, which modules it is for, and what it is about. Each is '' when the frame has none. */
export interface Route {
  /** The sending module: `edged`, `metaserver`, `websocket`, `edgecontroller`, … */
  readonly source: string
  /** The group of modules that receive it: `meta`, `resource`, `twin`, … */
  readonly group: string
  /** `insert`, `update`, `delete`, `query`, `patch`, `response`, `error`, … */
  readonly operation: string
  /** On the wire `<namespace>/<type>/<name>`, without the node, which is known from the connection. */
  readonly resource: string
}

/** One message between a KubeEdge edge and the cloud. */
export interface Message extends Route {
  readonly id: string
  /** The id of the message that this one answers; undefined when it is not an answer. */
  readonly parentId: string | undefined
  /** When it was created, epoch ms by the sender's clock. */
  readonly timestamp: number
  /** Of the object in the content. */
  readonly resourceVersion: string | undefined
  /** Any JSON value. */
  readonly content: unknown
}

/** What every new message needs. */
export interface Stamp {
  /** A new UUID. */
  readonly id: string
  /** Epoch ms. */
  readonly at: number
}

/** The source of the cloud's messages about objects; edges check this name. */
export const EDGE_CONTROLLER = 'edgecontroller'
export const RESOURCE_GROUP = 'resource'
/** The content of a successful acknowledgement. */
export const OK = 'OK'

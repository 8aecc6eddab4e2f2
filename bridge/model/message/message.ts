// SPDX-License-Identifier: Apache-2.0

/** Where a message comes from, for whom it is, and what it is about. Each is '' where the frame names none. */
export interface Route {
  /** The sending module: `edged`, `metaserver`, `websocket`, `edgecontroller`, … */
  readonly source: string
  /** The group of modules that it is for: `meta`, `resource`, `twin`, … */
  readonly group: string
  /** `insert`, `update`, `delete`, `query`, `patch`, `response`, `error`, … */
  readonly operation: string
  /** On the wire `<namespace>/<type>/<name>`, without the node: that is whoever holds the connection. */
  readonly resource: string
}

/** One message between KubeEdge's edge and the cloud: a frame that was read, or that is to be written. */
export interface Message extends Route {
  readonly id: string
  /** The id of the message that this one answers; undefined: it answers none. */
  readonly parentId: string | undefined
  /** When it was made, epoch ms by the maker's clock. */
  readonly timestamp: number
  /** That of the object in the content. */
  readonly resourceVersion: string | undefined
  /** Any JSON value. */
  readonly content: unknown
}

/** What makes a message a new one. */
export interface Stamp {
  /** A UUID that no message had before. */
  readonly id: string
  /** Epoch ms. */
  readonly at: number
}

/** The module for which the cloud speaks when it is about objects; edges look at this name. */
export const EDGE_CONTROLLER = 'edgecontroller'
export const RESOURCE_GROUP = 'resource'
/** What says that a message was dealt with. */
export const OK = 'OK'

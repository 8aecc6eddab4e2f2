// SPDX-License-Identifier: Apache-2.0
import type { Fields, Range } from './fields.js'
import { readPair } from './meta.js'

/** One endpoint of a slice, or one address of an Endpoints object: its place in the bytes, and what pruning needs of it. */
export interface EndpointView extends Range {
  /** The node that it runs on; undefined when the object does not say. */
  readonly node: string | undefined
  /** Its first address, decoded on each read; for people, not for decisions. */
  readonly address: string
  /**
   * The ports that it serves, by name and protocol: `http TCP`. Never empty: an endpoint without ports has one
   * empty text. All endpoints that are listed together share one array.
   */
  readonly ports: readonly string[]
  /** Whether a proxy would send traffic to it: it is ready, or still serving while it terminates. */
  readonly isUsable: boolean
}

/** Field numbers of the two messages that have addresses. */
export interface EndpointShape {
  readonly address: number
  readonly node: number
  /** The map of topology labels, which named the node before `nodeName` did; 0 when the message has none. */
  readonly topology: number
  /**
   * Field number of the message with `ready`, `serving` and `terminating`; 0 where the endpoint's list says whether it is ready.
   */
  readonly conditions: number
}

const HOSTNAME = 'kubernetes.io/hostname'
const READY = 1
const SERVING = 2
const TERMINATING = 3

/** As kube-proxy reads it: unset means ready, serving and not terminating; it falls back on endpoints that still serve. */
const readUsable = (conditions: Fields): boolean => {
  let isReady = true
  let isServing = true
  let isTerminating = false
  while (conditions.next()) {
    if (conditions.number === READY) isReady = conditions.integer() !== 0
    else if (conditions.number === SERVING) isServing = conditions.integer() !== 0
    else if (conditions.number === TERMINATING) isTerminating = conditions.integer() !== 0
  }
  return isReady || (isServing && isTerminating)
}

const hostnameOf = (entry: Fields): string | undefined => {
  const [key, value] = readPair(entry)
  return key === HOSTNAME ? value : undefined
}

/** Where to find a port's protocol; its name is always the first field. */
const portOf = (port: Fields, protocol: number): string => {
  let name = ''
  // The default protocol.
  let over = 'TCP'
  while (port.next()) {
    if (port.number === 1) name = port.text()
    else if (port.number === protocol) over = port.text() || over
  }
  return `${name} ${over}`
}

const NO_PORTS: readonly string[] = ['']

/** The ports in these fields, under one number. Proxies tell them apart by name and protocol. */
export const readPorts = (fields: Fields, number: number, protocol: number): readonly string[] => {
  const ports: string[] = []
  while (fields.next()) if (fields.number === number) ports.push(portOf(fields.inside(), protocol))
  return ports.length === 0 ? NO_PORTS : ports
}

/** A view stores offsets instead of text, since most addresses are never read. */
export class EndpointInBytes implements EndpointView {
  readonly start: number
  readonly end: number
  readonly node: string | undefined
  readonly isUsable: boolean
  readonly ports: readonly string[]
  readonly #raw: Buffer
  readonly #from: number
  readonly #to: number

  /** Reads the field that `field` stands on. */
  constructor(
    field: Fields,
    shape: EndpointShape,
    { isReady, ports }: { readonly isReady: boolean; readonly ports: readonly string[] },
  ) {
    let node: string | undefined
    let hostname: string | undefined
    let isUsable = isReady
    let from = 0
    let to = 0
    const inside = field.inside()
    while (inside.next()) {
      if (inside.number === shape.node) node = inside.text()
      else if (inside.number === shape.topology) hostname ??= hostnameOf(inside.inside())
      else if (inside.number === shape.conditions) isUsable = readUsable(inside.inside())
      else if (inside.number === shape.address && to === 0) {
        from = inside.from
        to = inside.end
      }
    }
    this.start = field.start
    this.end = field.end
    // An empty name is no name.
    this.node = (node ?? '') === '' ? hostname : node
    this.isUsable = isUsable
    this.ports = ports
    this.#raw = field.raw
    this.#from = from
    this.#to = to
  }

  get address(): string {
    return this.#raw.toString('utf8', this.#from, this.#to)
  }
}

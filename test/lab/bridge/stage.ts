// SPDX-License-Identifier: Apache-2.0
// What the scenes of the bridge share: claims, bridges as processes, edges that enrol, requests of the lab's own.
import { X509Certificate } from 'node:crypto'
import { request } from 'node:https'
import { join } from 'node:path'
import { sleep, systemClock } from '../../../core/clock.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { mapsAt, textAt, valueAt } from '../../../core/json-at.js'
import { systemRandom } from '../../../core/random.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { startBridgeProcess, type BridgeProcess } from '../../../testkit/edge/bridge-process.js'
import { edgeSubject, requestCertificate } from '../../../testkit/edge/certificate-request.js'
import { Edge } from '../../../testkit/edge/edge.js'
import type { EdgeEvent } from '../../../testkit/edge/edge-part.js'
import { decodeFrame, encodeFrame, makeFrame, type Frame } from '../../../testkit/edge/frame.js'
import { dialWebsocket, type CloudTarget, type WebsocketLink } from '../../../testkit/edge/link.js'
import { memoryStore } from '../../../testkit/edge/store.js'

const HOST = '127.0.0.1'
const ENROL = 10_002
const PATIENCE_MS = 30_000

export interface Seams {
  readonly plane: ControlPlane
  /** Of the bridge's account. */
  readonly kubeconfig: string
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/** Tells each claim and whether it held. */
export class Claims {
  readonly #say: Seams['say']
  held = 0
  failed = 0

  constructor(say: Seams['say']) {
    this.#say = say
  }

  claim(what: string, isSo: boolean, why = ''): void {
    if (isSo) this.held++
    else this.failed++
    this.#say(`  ${isSo ? 'ok    ' : 'NOT OK'} ${what}${isSo || why === '' ? '' : `: ${why}`}`)
  }

  /** It becomes so in time. @returns after how long, ms */
  async becomes(
    what: string,
    isSo: () => boolean | Promise<boolean>,
    patienceMs = PATIENCE_MS,
  ): Promise<number> {
    const startedAt = performance.now()
    let isIt = await isSo()
    while (!isIt && performance.now() - startedAt < patienceMs) {
      await sleep(systemClock, 100, new AbortController().signal)
      isIt = await isSo()
    }
    this.claim(what, isIt)
    return performance.now() - startedAt
  }
}

/** @param index 0 for the first; others listen beside it */
export const startBridge = ({ plane, kubeconfig }: Seams, index = 0): BridgeProcess =>
  startBridgeProcess({
    ...{ kubeconfig, vouch: 'grace', identity: `bridge-${index}`, portOffset: 100 * index },
    stateDir: join(plane.dir, `bridge-state-${index}`),
  })

const askEnrolment = (
  path: string,
  headers: Record<string, string>,
  body?: Buffer,
): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    // As an edge does: it knows the authority by its hash alone.
    const options = { host: HOST, port: ENROL, path, headers, rejectUnauthorized: false }
    const asked = request(options, answer => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve(Buffer.concat(parts))
        else reject(new Error(`${path}: ${answer.statusCode} ${Buffer.concat(parts).toString()}`))
      })
    })
    asked.on('error', reject)
    asked.end(body)
  })

/** With the token that administrators give it. */
export const enrol = async ({ plane }: Seams, node: string): Promise<CloudTarget['tls']> => {
  const path = 'jsonpath={.data.tokendata}'
  const text = await plane.kubectl(['-n', 'kubeedge', 'get', 'secret', 'tokensecret', '-o', path])
  const [, ...token] = Buffer.from(text, 'base64').toString().split('.')
  const ca = new X509Certificate(await askEnrolment('/ca.crt', {})).toString()
  const { der, key } = await requestCertificate(edgeSubject(node))
  const headers = {
    ...{ Authorization: `Bearer ${token.join('.')}`, Nodename: node },
    'Content-Length': String(der.length),
  }
  const signed = await askEnrolment('/edge.crt', headers, der)
  return { ca, cert: new X509Certificate(signed).toString(), key }
}

/** @param urls one after the other is dialled, as a load balancer spreads connections */
export const startEdge = (
  node: string,
  { tls, ip, urls }: { readonly tls: CloudTarget['tls']; ip: string; urls: readonly string[] },
) => {
  const events: EdgeEvent[] = []
  const store = memoryStore()
  let dials = 0
  const edge = new Edge(
    { node, ip },
    {
      ...{ clock: systemClock, random: systemRandom, store },
      dial: handlers => dialWebsocket({ url: urls[dials++ % urls.length]!, node, tls }, handlers),
      onEvent: event => events.push(event),
    },
  )
  const count = (kind: EdgeEvent['kind']): number =>
    events.filter(event => event.kind === kind).length
  /** How often its Lease was written, and how often not. */
  const leases = () => {
    const codes = events.flatMap(event => (event.kind === 'lease' ? [event.code] : []))
    const written = codes.filter(code => code === 200).length
    return { written, failed: codes.length - written }
  }
  return { node, edge, events, count, leases, ended: edge.run(), store }
}

export type StartedEdge = ReturnType<typeof startEdge>

/** A connection whose requests are the lab's own. @param target `node` in the path, `nodeId` in the header */
export const openRaw = (target: CloudTarget) => {
  const got: Frame[] = []
  let link!: WebsocketLink
  const opened = new Promise<void>((resolve, reject) => {
    link = dialWebsocket(target, {
      opened: resolve,
      refused: reason => reject(new Error(reason)),
      received: text => got.push(decodeFrame(text)!),
      ended: () => undefined,
    }) // prettier-ignore
  })
  const send = (operation: string, resource: string, content: unknown): Frame => {
    const route = { source: 'edged', group: 'meta', operation, resource }
    const frame = makeFrame(route, { content, wall: Date.now() })
    link.send(encodeFrame(frame))
    return frame
  }
  const ask = async (operation: string, resource: string, content: unknown): Promise<Frame> => {
    const frame = send(operation, resource, content)
    const find = () => got.find(({ header }) => header.parent_msg_id === frame.header.msg_id)
    const until = performance.now() + PATIENCE_MS
    while (find() === undefined && performance.now() < until)
      await sleep(systemClock, 10, new AbortController().signal)
    return find() ?? frame
  }
  return { ask, send, got, opened, reset: () => link.reset() }
}

export const codeOf = ({ content }: Frame): unknown => valueAt(content, 'Err', 'ErrStatus', 'code')

const readyOf = (node: JsonMap): string =>
  textAt(
    mapsAt(node, 'status', 'conditions').find(each => textAt(each, 'type') === 'Ready'),
    'status',
  )

/** What the apiserver says of each node now: the status of its condition Ready. */
export const readiness = async ({ plane, signal }: Seams): Promise<readonly string[]> => {
  const nodes = await plane.admin.get('/api/v1/nodes', signal)
  return mapsAt(nodes, 'items').filter(isMap).map(readyOf)
}

/** All that Ready was while one watched. */
export const readinessDuring = async (seams: Seams, ms: number): Promise<string> => {
  const seen = new Set<string>()
  const until = performance.now() + ms
  while (performance.now() < until && (await sleep(systemClock, 500, seams.signal)))
    for (const status of await readiness(seams)) seen.add(status)
  return [...seen].join()
}

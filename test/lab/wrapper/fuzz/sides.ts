// SPDX-License-Identifier: Apache-2.0
import { sleep, systemClock } from '../../../../core/clock.js'
import type { ControlPlane } from '../../../../testkit/control-plane/control-plane.js'
import { compare } from './compare.js'
import { KINDS } from './objects.js'
import { callRaw, type Door, type RawAnswer, type RawCall } from './raw-call.js'
import { JSON_TYPE, PROTOBUF_TYPE, type Rewrite } from './step.js'

/** `broken`: whose requests are broken off, so that nobody knows what came of them; they go to the wrapper. */
export type SideName = 'straight' | 'wrapped' | 'broken'

/** Where the wrapper listens. */
export const PORT = 51_006
const API_PORT = 6_443
/** What is read through the wrapper may be so much behind the apiserver. */
export const CATCH_UP_MS = 5_000

/** The two ways to the apiserver. Each has objects of its own, and may reach the other's. */
export class Sides {
  readonly #plane: ControlPlane
  readonly #signal: AbortSignal

  constructor(plane: ControlPlane, signal: AbortSignal) {
    this.#plane = plane
    this.#signal = signal
  }

  /** @param door through which; a side's objects may be reached straight, too */
  send(side: SideName, call: RawCall, door: SideName = side): Promise<RawAnswer> {
    const plane = this.#plane
    const own = (text: string): string =>
      text.replaceAll('{ns}', `fuzz-${side}`).replaceAll('{side}', `-${side}`)
    const at: Door =
      door === 'straight' ? { port: API_PORT, ca: plane.ca } : { port: PORT, ca: undefined }
    const headers: RawCall['headers'] = [
      ['Host', `127.0.0.1:${at.port}`],
      ['Authorization', `Bearer ${plane.adminToken}`],
      ...call.headers,
    ]
    return callRaw(at, {
      ...call,
      ...{ target: own(call.target), headers },
      body: typeof call.body === 'string' ? own(call.body) : call.body,
    })
  }

  /** The write that follows a read; undefined when there is nothing to read. */
  async rewriting(
    side: SideName,
    { resource, name, how, form }: Rewrite,
    door: SideName = side,
  ): Promise<RawCall | undefined> {
    const target = `${KINDS[resource].path}/${name}`
    const type = form === 'json' ? JSON_TYPE : PROTOBUF_TYPE
    const read = async (accept: string): Promise<RawAnswer> =>
      this.send(
        side,
        { method: 'GET', target, headers: [['Accept', accept]], body: undefined },
        door,
      )
    await this.#caughtUp(side, target, door)
    const json = await read(JSON_TYPE)
    if (json.status !== 200) return undefined
    const text = json.body.toString('utf8')
    const version = /"resourceVersion": ?"(\d+)"/.exec(text)?.[1]
    const headers = (contentType: string): RawCall['headers'] => [
      ['Accept', JSON_TYPE],
      ['Content-Type', contentType],
    ]
    const metadata = JSON.stringify({
      metadata: { resourceVersion: version, labels: { rewritten: 'yes' } },
    })
    switch (how) {
      case 'put':
        return {
          method: 'PUT',
          target,
          headers: headers(JSON_TYPE),
          body: text.replace('"fuzz":"yes"', '"fuzz":"yes","put":"yes"'),
        }
      case 'put back':
        return {
          ...{ method: 'PUT', target, headers: headers(type) },
          body: form === 'json' ? text : (await read(PROTOBUF_TYPE)).body,
        }
      case 'merge patch':
        return {
          method: 'PATCH',
          target,
          headers: headers('application/merge-patch+json'),
          body: metadata,
        }
      case 'json patch':
      case 'json patch with version': {
        const ops = [
          ...(how === 'json patch with version'
            ? [{ op: 'test', path: '/metadata/resourceVersion', value: version }]
            : [{ op: 'test', path: '/metadata/labels/fuzz', value: 'yes' }]),
          { op: 'add', path: '/metadata/labels/jsonpatched', value: 'yes' },
        ]
        return {
          method: 'PATCH',
          target,
          headers: headers('application/json-patch+json'),
          body: JSON.stringify(ops),
        }
      }
      case 'delete': {
        const body = JSON.stringify({
          kind: 'DeleteOptions',
          apiVersion: 'v1',
          preconditions: { resourceVersion: version },
        })
        return { method: 'DELETE', target, headers: headers(JSON_TYPE), body }
      }
    }
  }

  /** A read before a write must be of the newest object on both sides. */
  async #caughtUp(side: SideName, target: string, door: SideName): Promise<void> {
    if (door === 'straight') return
    const call = {
      method: 'GET',
      target,
      headers: [['Accept', JSON_TYPE] as const],
      body: undefined,
    }
    const until = performance.now() + CATCH_UP_MS
    while (performance.now() < until) {
      const direct = await this.send(side, call, 'straight')
      if (compare(call, direct, await this.send(side, call)).kind === 'same') return
      await sleep(systemClock, 20, this.#signal)
    }
  }
}

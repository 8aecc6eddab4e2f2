// SPDX-License-Identifier: Apache-2.0
// Frames of which nobody knows who wrote them, through everything that reads them. `EDGE_HEALTH_FUZZ=1000000` with tap's `--timeout=0` tries more.
import t from 'tap'
import { LocationCache } from '../../../../bridge/model/location/location-cache.js'
import { leaseToWrite } from '../../../../bridge/model/merge/lease.js'
import { nodeToCreate, nodeUpdatePatch } from '../../../../bridge/model/merge/node.js'
import {
  contentDelete,
  contentObject,
  contentPatch,
} from '../../../../bridge/model/message/content.js'
import { frameOf } from '../../../../bridge/model/message/frame.js'
import { parseMessage } from '../../../../bridge/model/message/parse.js'
import { checkRead, checkRight } from '../../../../bridge/model/right/right.js'
import { routeUpstream } from '../../../../bridge/model/route/upstream.js'
import { InvalidInputError } from '../../../../core/errors.js'
import { numberOf } from '../../../../testkit/properties.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'
import { spoiledFrame } from '../../spoiled-frames.js'
import { configVolume, pod, SHOP } from '../objects.js'

const locations = new LocationCache()
locations.setPod(pod('web', { volumes: [configVolume('prices')] }), SHOP)

/** Refusing what is no good is an answer; anything else that is thrown is not. */
const attempt = <T>(work: () => T): T | undefined => {
  try {
    return work()
  } catch (error) {
    if (error instanceof InvalidInputError) return undefined
    throw error
  }
}

const readWhole = (text: string): boolean => {
  const message = attempt(() => parseMessage(text))
  if (message === undefined) return false
  frameOf(message)
  const upstream = routeUpstream(message, SHOP)
  const content = attempt(() => contentObject('content', message.content)) ?? {}
  attempt(() => contentPatch('patch', message.content))
  attempt(() => contentDelete('delete', message.content))
  attempt(() => leaseToWrite(content, SHOP, 0))
  nodeUpdatePatch(content, nodeToCreate(content, SHOP))
  if (upstream.kind !== 'request') return true
  const { resource, route } = upstream
  const question = { handler: route.handler, resource, content }
  checkRight(question, locations)
  checkRead(question, content, locations)
  return true
}

t.test('every frame is read or refused', t => {
  // A million frames take minutes.
  if (numberOf('EDGE_HEALTH_FUZZ') !== undefined) t.setTimeout(0)
  const runs = numberOf('EDGE_HEALTH_FUZZ') ?? 20_000
  const random = seededRandom(numberOf('FC_SEED') ?? 1)
  const before = process.memoryUsage().heapUsed
  let read = 0
  for (let run = 0; run < runs; run++) {
    if (readWhole(spoiledFrame(random))) read++
  }
  t.ok(read > runs / 10 && read < runs, `${read} of ${runs} are read, the others refused`)
  t.ok(process.memoryUsage().heapUsed < before + 256 * 1024 * 1024, 'nothing of them is kept')
  t.equal(({} as { a?: unknown }).a, undefined, 'nor put into what all objects share')
  t.end()
})

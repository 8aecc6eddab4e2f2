// SPDX-License-Identifier: Apache-2.0
// Spoiled frames, carried out: `EDGE_HEALTH_FUZZ=1000000` with tap's `--timeout=0` tries more.
import t from 'tap'
import { parseMessage } from '../../../../bridge/model/message/parse.js'
import { InvalidInputError } from '../../../../core/errors.js'
import type { Message } from '../../../../bridge/model/message/message.js'
import { settle } from '../../../../testkit/fake-clock.js'
import { numberOf } from '../../../../testkit/properties.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'
import { SHOP } from '../../model/objects.js'
import { spoiledFrame } from '../../spoiled-frames.js'
import { openUpstream } from './upstream-stage.js'

const AT_ONCE = 50

const parsed = (text: string): Message | undefined => {
  try {
    return parseMessage(text)
  } catch (error) {
    if (error instanceof InvalidInputError) return undefined
    throw error
  }
}

/** What a node may touch by its own name alone, and what by no name at all. */
const isOwn = (path: string): boolean => {
  const [, resource, name] = /\/(nodes|leases)\/?([^/]*)/.exec(path) ?? []
  return resource === undefined || name === '' || name === SHOP
}

t.test('what is carried out is about the node that asks, and nothing is left behind', async t => {
  const runs = numberOf('EDGE_HEALTH_FUZZ') ?? 20_000
  if (numberOf('EDGE_HEALTH_FUZZ') !== undefined) t.setTimeout(0)
  const random = seededRandom(numberOf('FC_SEED') ?? 1)
  const { api, connect, say, upstream, log, seen } = openUpstream()
  const link = connect(SHOP)
  const before = process.memoryUsage().heapUsed
  const foreign: string[] = []
  let carriedOut = 0
  let answered = 0
  for (let run = 0; run < runs; run += AT_ONCE) {
    for (let i = 0; i < AT_ONCE; i++) {
      const message = parsed(spoiledFrame(random))
      if (message !== undefined) say(link, message)
    }
    while (upstream.running > 0) await settle()
    for (const { path } of api.asked) if (!isOwn(path)) foreign.push(path)
    carriedOut += api.asked.length
    answered += link.sent.length
    for (const list of [api.asked, link.sent, link.held, seen]) list.length = 0
    const bug = log.lines.find(({ message }) => message.startsWith('bug'))
    if (bug !== undefined) t.fail('a frame found a bug', { bug })
    log.lines.length = 0
  }
  t.strictSame(foreign, [])
  t.ok(carriedOut > runs / 20 && answered > runs / 20, `${carriedOut} requests reached the apiserver, ${answered} answers left`) // prettier-ignore
  t.ok(process.memoryUsage().heapUsed < before + 256 * 1024 * 1024, 'nothing of them is kept')
})

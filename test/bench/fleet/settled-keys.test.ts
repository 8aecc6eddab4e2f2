// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { decidePin } from '../../../agent/identity/pins.js'
import { OwnKeys, readPublished } from '../../../agent/stages/identity/own-keys.js'
import { parsePins } from '../../../agent/stages/identity/remembered-pins.js'
import type { StateName } from '../../../agent/state-folder.js'
import { SettledKeys } from '../../../bench/fleet/settled-keys.js'
import { parseNodeName, type NodeName } from '../../../core/ids.js'
import { silentLog } from '../../../core/log.js'
import { memoryFolder } from '../../../testkit/zone/memory-folder.js'

const [one, two, three] = [parseNodeName('one'), parseNodeName('two'), parseNodeName('three')]
const subjectOf = (node: NodeName) => ({ clusterId: '', node, uid: `uid-${node}` })

t.test('an agent finds all as it left it: it has nothing to write, and no key is news', async t => {
  const keys = new SettledKeys()
  const said = new Map<string, string>()
  for (const node of [one, two, three])
    said.set(node, await keys.publish(node, subjectOf(node).uid))
  const disk = keys.diskOf(one, [two, three])
  const folder = memoryFolder(new Map(Object.entries(disk) as [StateName, string][]))
  const own = await OwnKeys.open(folder, one, silentLog)
  t.ok(own.published, 'its Node had them at the last look')
  t.equal(own.review(subjectOf(one), said.get(one)), undefined)
  const pins = parsePins(disk['identities.json']!)
  t.strictSame(
    pins.map(({ node }) => node),
    [two, three],
  )
  for (const pin of pins) {
    const published = readPublished(said.get(pin.node))
    const found = { subject: subjectOf(pin.node), published, silentMs: 0 }
    const settings = { identity: 'prefer', changeAfterMs: 1 } as const
    t.equal(decidePin(pin, { ...found, holder: 'unasked' }, settings).kind, 'keep')
  }
})

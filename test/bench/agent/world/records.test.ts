// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { makeKeyRing } from '../../../../agent/key-ring.js'
import { TYPE } from '../../../../agent/stages/exchange/wire.js'
import { castOf } from '../../../../bench/agent/world/cast.js'
import { Records } from '../../../../bench/agent/world/records.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { FLAG } from '../../../../vote/evidence.js'

const HEADER = { type: TYPE.gossip, senderBoot: 1n, senderSeq: 1, destBoot: 0n, heldMs: 0 }

t.test('every played member says that its kubelet is well', t => {
  const { members } = castOf(10, 90)
  const records = new Records(members, members[0]!, {
    clock: new FakeClock(),
    keys: makeKeyRing('the key of a zone that is measured'),
    topology: { meshMax: 64, ringObservers: 10 },
  })
  records.message(5, HEADER)
  const { table } = records
  const others = [...table.flags.keys()].filter(index => index !== table.roster.indexOf('edge-1'))
  t.equal(others.length, 9)
  for (const index of others)
    t.equal(table.flags[index], FLAG.kubeletWell, table.roster.members[index]!.name)
  t.end()
})

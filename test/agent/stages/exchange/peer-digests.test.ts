// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { NodeName } from '../../../../core/ids.js'
import { OLDEST_MS } from '../../../../agent/identity/entries.js'
import { PeerDigests } from '../../../../agent/stages/exchange/peer-digests.js'
import { PeerState } from '../../../../agent/stages/exchange/peer-state.js'

const peerNamed = (name: string): PeerState =>
  new PeerState(
    { name: name as NodeName, id: BigInt(name.length), address: '192.0.2.1' },
    { index: 0, port: 51005, seq: 0 },
  )

t.test('a report is a copy, and what the peer was sent is added to it', async t => {
  const digests = new PeerDigests(3)
  const peer = peerNamed('a')
  t.equal(digests.of(peer, 0), undefined)
  const reported = Buffer.from([1, 2, 3])
  digests.set(peer, reported, 0)
  reported[0] = 9
  digests.toUpdate(peer, 0)[1] = 77
  t.strictSame([...digests.of(peer, 0)!], [1, 77, 3])
  t.equal(digests.of(peerNamed('b'), 0), undefined)
})

t.test('a peer that did not report knows only what it was sent', async t => {
  const digests = new PeerDigests(3)
  const peer = peerNamed('a')
  digests.toUpdate(peer, 0)[2] = 5
  t.strictSame([...digests.of(peer, 0)!], [0, 0, 5])
})

t.test('a report is forgotten when its bytes may stand for other times', async t => {
  const digests = new PeerDigests(1)
  const [first, second] = [peerNamed('a'), peerNamed('b')]
  digests.set(first, Buffer.from([1]), 0)
  digests.set(second, Buffer.from([2]), 10)
  digests.set(first, Buffer.from([3]), 20)
  digests.toUpdate(second, OLDEST_MS)[0] = 4
  t.strictSame([...digests.of(second, OLDEST_MS + 10)!], [4], 'a part makes it no younger')
  t.equal(digests.of(second, OLDEST_MS + 11), undefined)
  t.strictSame([...digests.of(first, OLDEST_MS + 11)!], [3], 'reported anew')
  digests.toUpdate(first, OLDEST_MS + 21)[0] = 9
  t.strictSame([...digests.of(first, OLDEST_MS + 21)!], [9], 'begins with nothing')
})

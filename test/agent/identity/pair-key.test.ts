// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { generateNodeKeys, type NodeKeys } from '../../../agent/identity/node-keys.js'
import { makePairKey } from '../../../agent/identity/pair-key.js'
import { makeKeyRing, type SignKey } from '../../../agent/key-ring.js'
import { id64 } from '../../../core/ids.js'

const shared = makeKeyRing('a shared key of the zone').primary
const [a, b, c] = [generateNodeKeys(), generateNodeKeys(), generateNodeKeys()]

const key = (
  [own, ownKeys]: readonly [string, NodeKeys],
  [peer, peerAgreement]: readonly [string, Buffer],
  zoneHash = 1n,
  from = shared,
): SignKey | undefined =>
  makePairKey(
    {
      ...{ ownId: id64(own), ownAgreementKey: ownKeys.agreementKey },
      ...{ peerId: id64(peer), peerAgreement, zoneHash },
    },
    from,
  )
const text = (one: SignKey | undefined): string => one?.key.export().toString('hex') ?? 'none'

t.test('two nodes agree on one key, which nobody else has', t => {
  const ours = key(['a', a], ['b', b.public.agreement])
  t.equal(text(ours), text(key(['b', b], ['a', a.public.agreement])))
  t.equal(ours?.id, key(['b', b], ['a', a.public.agreement])?.id)
  const others: [string, SignKey | undefined][] = [
    ['a third node', key(['c', c], ['b', b.public.agreement])],
    ['a third node that says that it is one of them', key(['a', c], ['b', b.public.agreement])],
    ['another zone', key(['a', a], ['b', b.public.agreement], 2n)],
    ['another name with the same keys', key(['a', a], ['d', b.public.agreement])],
    [
      'another shared key',
      key(['a', a], ['b', b.public.agreement], 1n, makeKeyRing('another key of a zone').primary),
    ],
  ]
  for (const [what, other] of others) t.not(text(other), text(ours), what)
  t.end()
})

t.test('a key with which nothing can be agreed gives none', t => {
  t.equal(key(['a', a], ['b', Buffer.alloc(32)]), undefined)
  t.equal(key(['a', a], ['b', Buffer.from([1, ...Buffer.alloc(31)])]), undefined)
  t.end()
})

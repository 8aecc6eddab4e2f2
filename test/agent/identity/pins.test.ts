// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { parseIdentity, writeIdentity } from '../../../agent/identity/annotation.js'
import { generateNodeKeys } from '../../../agent/identity/node-keys.js'
import { decidePin, type ChangeRules, type Holder, type Pin } from '../../../agent/identity/pins.js'
import { parseNodeName } from '../../../core/ids.js'

const AFTER = 120_000
const REQUIRE: ChangeRules = { identity: 'require', changeAfterMs: AFTER }
const PREFER: ChangeRules = { ...REQUIRE, identity: 'prefer' }
const node = parseNodeName('node-1')
const subject = { clusterId: 'c', node, uid: 'u-1' }
const [first, second, foreign] = [generateNodeKeys(), generateNodeKeys(), generateNodeKeys()]
const known: Pin = { node, uid: 'u-1', generation: 3, keys: first.public }
const write = (...args: Parameters<typeof writeIdentity>) => parseIdentity(writeIdentity(...args))

const rows: [
  claim: string,
  known: Pin | undefined,
  published: ReturnType<typeof parseIdentity> | undefined,
  silentMs: number,
  decision: string,
][] = [
  ['what was never seen is taken', undefined, write(subject, 3, first), Infinity, 'take'],
  ['the same again changes nothing', known, write(subject, 3, first), 0, 'keep'],
  ['no annotation, no identity', undefined, undefined, 0, 'none'],
  ['whoever takes an annotation off does not take the keys', known, undefined, 0, 'wait'],
  ['… until they were silent', known, undefined, AFTER, 'none'],
  [
    'new keys that the old ones vouch for count at once',
    known,
    write(subject, 4, second, first),
    0,
    'take',
  ],
  [
    '… but not with a number that was there before',
    known,
    write(subject, 3, second, first),
    0,
    'wait',
  ],
  ['… nor vouched for by others', known, write(subject, 4, second, foreign), 0, 'wait'],
  [
    'the same keys with a later number vouch for themselves',
    known,
    write(subject, 4, first),
    0,
    'take',
  ],
  ['… and with an earlier one they are an annotation of before', known, write(subject, 2, first), 0, 'wait'], // prettier-ignore
  [
    'a lost disk waits until the old keys have been silent',
    known,
    write(subject, 1, second),
    119_999,
    'wait',
  ],
  ['… and no longer', known, write(subject, 1, second), AFTER, 'take'],
  ['keys of which nothing ever counted', known, write(subject, 1, second), Infinity, 'take'],
  [
    "another node's annotation, copied",
    known,
    write({ ...subject, node: parseNodeName('node-2') }, 4, second),
    Infinity,
    'refuse',
  ],
  [
    '… at the first sight too',
    undefined,
    write({ ...subject, uid: 'u-0' }, 1, second),
    Infinity,
    'refuse',
  ],
]
t.test('which keys are believed', t => {
  for (const [claim, pin, published, silentMs, kind] of rows)
    for (const holder of ['unasked', 'answered', 'silent'] as const)
      t.equal(decidePin(pin, { subject, published, silentMs, holder }, REQUIRE).kind, kind, claim)
  t.end()
})

t.test('with prefer a change waits for nothing but the answer at the address of the node', t => {
  const changes: [what: string, published: ReturnType<typeof parseIdentity> | undefined][] = [
    ['other keys', write(subject, 4, second)],
    ['no keys', undefined],
  ]
  const outcomes: [holder: Holder, kind: string | undefined][] = [
    ['unasked', 'ask'],
    ['answered', 'dispute'],
    ['silent', undefined],
  ]
  for (const [what, published] of changes)
    for (const [holder, kind = published === undefined ? 'none' : 'take'] of outcomes)
      for (const silentMs of [0, Infinity])
        t.equal(
          decidePin(known, { subject, published, silentMs, holder }, PREFER).kind,
          kind,
          `${what}, ${holder}`,
        )
  for (const [claim, pin, published, silentMs, kind] of rows)
    if (kind !== 'wait' && pin === undefined)
      t.equal(
        decidePin(pin, { subject, published, silentMs, holder: 'unasked' }, PREFER).kind,
        kind,
        claim,
      )
  t.end()
})

t.test('a Node that was deleted and made again has new keys at once', t => {
  const again = { ...subject, uid: 'u-2' }
  const decision = decidePin(
    known,
    { subject: again, published: write(again, 1, second), silentMs: 0, holder: 'answered' },
    REQUIRE,
  )
  t.match(decision, { kind: 'take', pin: { uid: 'u-2', generation: 1, keys: second.public } })
  const old = {
    subject: again,
    published: write(subject, 3, first),
    silentMs: 0,
    holder: 'silent',
  } as const
  t.match(
    decidePin(known, old, REQUIRE),
    { kind: 'refuse' },
    'what was published for the Node before is worth nothing',
  )
  const bare = { ...old, published: undefined }
  for (const rules of [REQUIRE, PREFER])
    t.strictSame(decidePin(known, bare, rules), { kind: 'none' }, 'until it says which it has')
  t.end()
})

t.test('how long is left', t => {
  const look = {
    subject,
    published: write(subject, 1, second),
    silentMs: 40_000,
    holder: 'silent',
  } as const
  t.strictSame(decidePin(known, look, REQUIRE), { kind: 'wait', ms: 80_000 })
  t.end()
})

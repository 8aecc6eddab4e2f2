// SPDX-License-Identifier: Apache-2.0
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  isOwnIdentity,
  isSuccessor,
  MAX_GENERATION,
  parseIdentity,
  writeIdentity,
} from '../../../../agent/identity/annotation.js'
import { generateNodeKeys, makeVerifier } from '../../../../agent/identity/node-keys.js'
import { OwnKeys, readPublished } from '../../../../agent/stages/identity/own-keys.js'
import { openStateFolder } from '../../../../agent/state-folder.js'
import { silentLog } from '../../../../core/log.js'
import { parseNodeName } from '../../../../core/ids.js'
import { recordingLog } from '../../../../testkit/recording-log.js'

const subject = { clusterId: 'c', node: parseNodeName('node-1'), uid: 'u-1' }

const disk = (t: Test) => {
  const path = t.testdir({})
  const folder = openStateFolder(path, silentLog)
  return {
    folder,
    file: join(path, 'identity.json'),
    open: async (log = silentLog, node = subject.node): Promise<OwnKeys> => {
      const own = await OwnKeys.open(folder, node, log)
      await folder.settled()
      return own
    },
  }
}

t.test('keys are made once, and are the own ones when the Node says so', async t => {
  const { open, folder } = disk(t)
  const own = await open()
  t.equal(own.published, undefined, 'nobody can know them yet')
  const note = own.review(subject, undefined)!
  t.ok(isOwnIdentity(subject, parseIdentity(note)))
  t.equal(own.published, undefined, 'not before the Node was seen to say so')
  t.equal(own.review(subject, note), undefined, 'what stands there is right')
  t.equal(own.published?.generation, 1)
  t.equal(own.published, own.published, 'one object: another one begins another epoch')
  await folder.settled()
  const again = await open()
  t.strictSame(again.published?.keys.toJson(), own.published?.keys.toJson(), 'also after a restart')
  t.equal(again.published?.generation, 1)
})

t.test('an annotation that is not right is written anew', async t => {
  const { open, folder } = disk(t)
  const own = await open()
  const note = own.review(subject, undefined)!
  own.review(subject, note)
  for (const [why, text] of [
    ['it was taken off', undefined],
    ['it is broken', `${note}x`],
    ['it is empty', ''],
  ] as const) {
    t.equal(parseIdentity(own.review(subject, text)!).generation, 1, why)
    t.equal(own.published, undefined, why)
    t.equal(own.review(subject, note), undefined, `${why}, and was put back`)
  }
  const moved = { ...subject, uid: 'u-2' }
  t.ok(isOwnIdentity(moved, parseIdentity(own.review(moved, note)!)), 'signed for the new Node')
  await folder.settled()
})

t.test('after other keys ours are of the next generation', async t => {
  const { open, folder } = disk(t)
  const others = generateNodeKeys()
  const rows: [was: number, is: number][] = [
    [1, 2],
    [7, 8],
    [MAX_GENERATION, MAX_GENERATION],
  ]
  for (const [was, is] of rows) {
    const own = await open()
    const published = parseIdentity(own.review(subject, writeIdentity(subject, was, others))!)
    t.equal(published.generation, is)
    t.notOk(
      isSuccessor(subject, published, makeVerifier(others.public.signing)),
      'the others do not vouch for them',
    )
    await folder.settled()
  }
})

t.test('what is broken on disk is replaced, and its text stays out of the log', async t => {
  const { open, file, folder } = disk(t)
  const first = await open()
  first.review(subject, first.review(subject, undefined))
  await folder.settled()
  const keys = first.published!.keys.toJson()
  const mixed = { ...keys, ed25519: { ...keys.ed25519, x: generateNodeKeys().toJson().ed25519.x } }
  const whole = { version: 1, node: subject.node, generation: 1, isPublished: true, keys }
  for (const [why, json] of [
    ['half a file', JSON.stringify(whole).slice(0, -9)],
    ['another version', JSON.stringify({ ...whole, version: 2 })],
    ['no node', JSON.stringify({ ...whole, node: undefined })],
    ['no generation', JSON.stringify({ ...whole, generation: 0 })],
    ['too large a generation', JSON.stringify({ ...whole, generation: MAX_GENERATION + 1 })],
    ['no keys', JSON.stringify({ ...whole, keys: {} })],
    ['keys of two nodes', JSON.stringify({ ...whole, keys: mixed })],
  ] as const) {
    await writeFile(file, json, { mode: 0o600 })
    const log = recordingLog()
    const own = await open(log)
    t.equal(own.published, undefined, why)
    t.match(log.lines, [{ level: 'error', message: /this node gets another/ }], why)
    const logged = JSON.stringify(log.lines)
    t.notOk(logged.includes(keys.ed25519.d) || logged.includes(keys.x25519.d), `${why}: no key`)
    own.review(subject, own.review(subject, undefined))
    t.not(own.published!.keys.toJson().ed25519.d, keys.ed25519.d, why)
    await folder.settled()
  }
})

t.test('the keys of another node, whose disk was copied, are not used', async t => {
  const { open, folder } = disk(t)
  const first = await open()
  first.review(subject, first.review(subject, undefined))
  await folder.settled()
  const log = recordingLog()
  const copy = await open(log, parseNodeName('node-2'))
  t.equal(copy.published, undefined)
  t.match(log.lines, [{ level: 'warn', fields: { member: 'node-1' } }])
  const other = { ...subject, node: parseNodeName('node-2') }
  copy.review(other, copy.review(other, undefined))
  t.not(copy.published!.keys.toJson().ed25519.d, first.published!.keys.toJson().ed25519.d)
  await folder.settled()
})

t.test('what a Node says is read, or is nothing', async t => {
  const note = writeIdentity(subject, 3, generateNodeKeys())
  t.equal(readPublished(note)?.generation, 3)
  for (const text of [undefined, '', 'x', '2 1 a b c', note.slice(0, -1)])
    t.equal(readPublished(text), undefined)
})

// SPDX-License-Identifier: Apache-2.0
// What somebody may have done to the folder while the agent was away.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { OwnKeys } from '../../agent/stages/identity/own-keys.js'
import { makeKeyKeeper } from '../../agent/stages/node-list/keys.js'
import { parseNodeName } from '../../core/ids.js'
import { openStateFolder, type StateFolder } from '../../agent/state-folder.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'

const isRoot = process.getuid?.() === 0

interface World {
  readonly dir: string
  readonly folder: StateFolder
  readonly reasons: () => unknown[]
}

const make = (t: Test): World => {
  const dir = t.testdir({ state: {}, theirs: 'theirs' })
  const log = recordingLog()
  const own = join(dir, 'state')
  chmodSync(own, 0o700)
  return {
    dir: own,
    folder: openStateFolder(own, log),
    reasons: () => log.lines.map(({ fields }) => fields['error']),
  }
}

t.test('what is no plain file of ours is not believed, and nobody waits for it', async t => {
  type Row = readonly [what: string, make: (path: string) => void, reason: RegExp | undefined]
  const rows: readonly Row[] = [
    ['a file of ours', path => writeFileSync(path, '7', { mode: 0o600 }), undefined],
    ['readable by all', path => writeFileSync(path, '7', { mode: 0o644 }), undefined],
    ['a pipe that nobody writes to', path => spawnSync('mkfifo', [path]), /must be a plain file/],
    ['a folder', path => mkdirSync(path), /must be a plain file/],
    ['a link to somewhere else', path => symlinkSync(join(path, '../../theirs'), path), /ELOOP/],
    ['a link to nowhere', path => symlinkSync('/nowhere', path), /ELOOP/],
    [
      'without end',
      path => {
        writeFileSync(path, '7', { mode: 0o600 })
        truncateSync(path, 1 << 30)
      },
      /must have at most 1024 bytes, got 1073741824/,
    ],
    [
      'anybody may write it',
      path => {
        writeFileSync(path, '7')
        chmodSync(path, 0o602)
      },
      /must be writable by its owner alone/,
    ],
  ]
  for (const [what, prepare, reason] of rows) {
    const { dir, folder, reasons } = make(t)
    prepare(join(dir, 'heartbeat'))
    t.equal(await folder.read('heartbeat'), reason === undefined ? '7' : undefined, what)
    t.match(reasons(), reason === undefined ? [] : [reason], what)
  }
})

t.test('a file of another user is not believed', { skip: !isRoot }, async t => {
  const { dir, folder, reasons } = make(t)
  writeFileSync(join(dir, 'keys.json'), '{}', { mode: 0o600 })
  chownSync(join(dir, 'keys.json'), 4711, 4711)
  t.equal(await folder.read('keys.json'), undefined)
  t.match(reasons(), [/must belong to this user or to root, got 4711/])
})

t.test('a folder where others put files is not believed', async t => {
  const { dir, folder, reasons } = make(t)
  writeFileSync(join(dir, 'keys.json'), '{}', { mode: 0o600 })
  chmodSync(dir, 0o777)
  t.equal(await folder.read('keys.json'), undefined)
  t.match(reasons(), [/must be writable by its owner alone/])
  await folder.write('keys.json', '{}')
  t.match([...folder.troubles], [['keys.json', /must be writable by its owner alone/]], 'nor later')
  chmodSync(dir, 0o755)
  t.equal(await folder.read('keys.json'), '{}')
  await folder.write('keys.json', '{}')
  t.equal(folder.troubles.size, 0)
})

t.test('what could not be read is no trouble once it can be, or is gone', async t => {
  const { dir, folder } = make(t)
  for (const name of ['epoch', 'heartbeat', 'keys.json']) mkdirSync(join(dir, name))
  for (const name of ['epoch', 'heartbeat', 'keys.json'] as const) await folder.read(name)
  t.equal(folder.troubles.size, 3)
  for (const name of ['epoch', 'heartbeat']) rmdirSync(join(dir, name))
  writeFileSync(join(dir, 'heartbeat'), '7', { mode: 0o600 })
  await folder.retry()
  t.strictSame([...folder.troubles.keys()], ['keys.json'])
})

t.test('nothing is written through a link', async t => {
  const { dir, folder } = make(t)
  const outside = join(dir, '../theirs')
  symlinkSync(outside, join(dir, '.heartbeat.new'))
  symlinkSync(outside, join(dir, 'heartbeat'))
  await folder.write('heartbeat', '8')
  t.equal(await folder.read('heartbeat'), '8')
  t.equal(folder.troubles.size, 0)
  t.equal(readFileSync(outside, 'utf8'), 'theirs')
})

t.test('remembered keys never reach a log, however the file was cut or altered', async t => {
  const key = 'dGhpcy1pcy1hLXNlY3JldC1rZXk='
  const whole = JSON.stringify({ secret: { primary: key }, hmacConfig: { hmackey: key } })
  const texts = [
    ...Array.from({ length: whole.length }, (_, length) => whole.slice(0, length)),
    JSON.stringify({ secret: key }),
    JSON.stringify({ secret: [key] }),
    JSON.stringify(key),
    JSON.stringify({ secret: { primary: [key] } }),
    JSON.stringify({ secret: { primary: { key } } }),
    `${whole}x`,
    key,
  ]
  const log = recordingLog()
  for (const text of texts) {
    const keeper = makeKeyKeeper(
      { allowDefaultHmacKey: false, keySecret: 'keys', namespace: 'edge-system' },
      {
        folder: { read: async () => text } as unknown as StateFolder,
        clock: new FakeClock(),
        log,
        onProblem: () => undefined,
      },
    )
    await keeper.recall()
    t.equal(keeper.ring, undefined)
  }
  t.equal(log.lines.length, texts.length, 'each is told')
  for (const piece of [key, key.slice(0, 8)]) t.notMatch(JSON.stringify(log.lines), piece)
})

t.test('what lies in a folder where others may write is not written over', async t => {
  const { dir, folder } = make(t)
  const path = join(dir, 'history.json')
  writeFileSync(path, 'of an earlier life', { mode: 0o600 })
  chmodSync(dir, 0o777)
  t.equal(await folder.read('history.json'), undefined)
  await folder.write('history.json', 'of this life')
  t.equal(readFileSync(path, 'utf8'), 'of an earlier life')
  t.ok(folder.troubles.has('history.json'))
  chmodSync(dir, 0o700)
  await folder.retry()
  t.equal(readFileSync(path, 'utf8'), 'of this life')
  t.equal(readFileSync(`${path}.unread`, 'utf8'), 'of an earlier life', 'it is kept')
  t.equal(folder.troubles.size, 0)
})

t.test('a file that cannot be read is kept, and the oldest such file stays', async t => {
  const { dir, folder } = make(t)
  const path = join(dir, 'identity.json')
  for (const [mode, text] of [
    [0o602, 'first'],
    [0o602, 'second'],
    [0o600, 'third'],
  ] as const) {
    writeFileSync(path, text)
    chmodSync(path, mode)
    t.equal(await folder.read('identity.json'), mode === 0o600 ? text : undefined)
    await folder.write('identity.json', `after ${text}`)
    t.equal(readFileSync(path, 'utf8'), `after ${text}`)
    t.equal(readFileSync(`${path}.unread`, 'utf8'), 'first')
  }
})

t.test('keys that this version cannot use are kept, for the version that wrote them', async t => {
  const { dir, folder } = make(t)
  const path = join(dir, 'identity.json')
  const newer = '{"version":2,"keys":"of a later version"}'
  writeFileSync(path, newer, { mode: 0o600 })
  await OwnKeys.open(folder, parseNodeName('n1'), recordingLog())
  await folder.settled()
  t.match(JSON.parse(readFileSync(path, 'utf8')), { version: 1, node: 'n1' })
  t.equal(readFileSync(`${path}.unread`, 'utf8'), newer)
})

t.test('what failed is not tried again in the place of what was written since', async t => {
  const { dir, folder } = make(t)
  const path = join(dir, 'epoch')
  const failing = async (text: string): Promise<void> => {
    rmSync(dir, { recursive: true })
    writeFileSync(dir, 'a file in the way')
    await folder.write('epoch', text)
    t.strictSame([...folder.troubles.keys()], ['epoch'])
    rmSync(dir)
  }
  await failing('7')
  await folder.retry()
  t.equal(readFileSync(path, 'utf8'), '7', 'nothing newer')

  await failing('8')
  void folder.write('epoch', '9')
  await folder.retry()
  await folder.settled()
  t.equal(readFileSync(path, 'utf8'), '9', 'one is under way')

  await failing('10')
  void folder.write('epoch', '11')
  void folder.write('epoch', '12')
  await folder.retry()
  await folder.settled()
  t.equal(readFileSync(path, 'utf8'), '12', 'one is under way, one waits')
  t.strictSame([...folder.troubles], [])
})

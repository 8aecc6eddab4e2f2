// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openFolder, type Folder } from '../../../wrapper/disk/folder.js'
import { makeLastLists, type LastLists } from '../../../wrapper/disk/last-lists.js'
import {
  listFile,
  readListFile,
  type SavedItem,
  type SavedItems,
} from '../../../wrapper/disk/list-file.js'
import { makeVersions } from '../../../wrapper/store/versions.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import fc from '../../../testkit/properties.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

const item = (key: string, version = '1', size = 10): SavedItem => ({
  key,
  version,
  raw: new Uint8Array(size).fill(key.length),
})

const fileOf = (what: string, items: SavedItems, savedAt = 5): Buffer => {
  const pieces: Buffer[] = []
  // Pieces share a buffer.
  for (const piece of listFile(what, { savedAt, items })) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}

/** Read it in pieces of this size, which share a buffer. */
const readIn = (pieceBytes: number, what: string, bytes: Buffer) => {
  const pieces = function* (): Generator<Uint8Array> {
    const buffer = Buffer.alloc(pieceBytes)
    for (let at = 0; at < bytes.length; at += pieceBytes)
      yield buffer.subarray(0, bytes.copy(buffer, 0, at, at + pieceBytes))
  }
  return readListFile(what, { size: bytes.length, pieces: pieces() })
}

t.test('any list that was written can be read again', async t => {
  const anyItem = fc.record(
    {
      key: fc.string({ maxLength: 40 }),
      version: fc.string({ maxLength: 20 }),
      raw: fc.uint8Array({ maxLength: 300 }),
    },
    { noNullPrototype: true },
  )
  const anyList = fc.array(anyItem, { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(anyList, fc.constant('absent' as const)),
      fc.nat(),
      fc.integer({ min: 1, max: 500 }),
      async (items, savedAt, pieceBytes) => {
        const read = await readIn(pieceBytes, 'nodes', fileOf('nodes', items, savedAt))
        t.ok(read.ok)
        if (read.ok) t.strictSame(read.list, { savedAt, items })
      },
    ),
    { numRuns: 60 },
  )
  const large = [item('a', '1', 700_000), item('b', '2', 1), item('c', '3', 262_144)]
  const read = await readIn(100_000, 'nodes', fileOf('nodes', large))
  t.ok(read.ok)
  if (!read.ok || read.list.items === 'absent') return
  for (const [i, { key, raw }] of read.list.items.entries())
    t.ok(key === large[i]!.key && Buffer.compare(raw, large[i]!.raw) === 0, 'pieces of any size')
})

/** The same file with something behind its items, and a digest that is right. */
const withBody = (file: Buffer, more: string): Buffer => {
  const body = Buffer.concat([file.subarray(0, -32), Buffer.from(more)])
  return Buffer.concat([body, createHash('sha256').update(body).digest()])
}

t.test('a damaged file is never used, and never throws', async t => {
  const good = fileOf('nodes', [item('a'), item('b', '7', 90)])
  const random = seededRandom(3)
  for (let i = 0; i < 500; i++) {
    const bytes = Buffer.from(good)
    const at = random.below(bytes.length)
    bytes[at] = bytes[at]! ^ (1 << random.below(8))
    t.equal((await readIn(40, 'nodes', bytes)).ok, false, `bit flipped in byte ${at}`)
  }
  for (let end = 0; end < good.length; end++)
    t.equal((await readIn(40, 'nodes', good.subarray(0, end))).ok, false, `cut at ${end}`)
  const rows: [bytes: Buffer, trouble: RegExp][] = [
    [Buffer.alloc(0), /not a list of ours/],
    [Buffer.from('{"nodes":[]}\n'), /not a list of ours/],
    [Buffer.from('edge-health list 2 something else\n'), /a newer version wrote it/],
    [fileOf('services', []), /it holds services/],
    [Buffer.concat([good, Buffer.from('x')]), /checksum/],
    [withBody(fileOf('nodes', 'absent'), 'x'), /do not fill it/],
  ]
  for (const [bytes, trouble] of rows)
    for (const pieceBytes of [1, 40, 1_000])
      t.match(await readIn(pieceBytes, 'nodes', bytes), { ok: false, trouble })
  const grown = { size: good.length, pieces: [good, Buffer.from('more')] }
  t.match(await readListFile('nodes', grown), { ok: false, trouble: /checksum/ })
  const shrunk = { size: good.length + 9, pieces: [good] }
  t.match(await readListFile('nodes', shrunk), { ok: false, trouble: /checksum/ })
})

t.test('a large file is read a piece at a time, and only once it is wanted', async t => {
  const path = join(t.testdir(), 'lists')
  const folder = openFolder(path)
  t.equal(await folder.read('nodes.list', 9), undefined)
  const items = Array.from({ length: 1_000 }, (_, at) => item(`n${at}`, '1', 2_000))
  await folder.replace('nodes.list', listFile('nodes', { savedAt: 5, items }))
  await t.rejects(folder.read('nodes.list', 2_000_000), RangeError)
  const file = (await folder.read('nodes.list', 3_000_000))!
  const memory = new Set<ArrayBufferLike>()
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of file.pieces) {
      memory.add(piece.buffer)
      t.ok(piece.length <= 256 << 10)
      yield piece
    }
  }
  t.match(await readListFile('nodes', { size: file.size, pieces: pieces() }), {
    ok: true,
    list: { items },
  })
  t.equal(memory.size, 1, 'all in the same memory')
})

interface Bed {
  readonly clock: FakeClock
  readonly log: ReturnType<typeof recordingLog>
  readonly lists: LastLists
  readonly path: string
  /** What was replaced, in order. */
  readonly replaced: string[]
  items: Record<string, SavedItems | undefined>
  /** Thrown by the next writes. */
  failure: Error | undefined
}

const makeBed = (t: Test, path = join(t.testdir(), 'lists'), maxBytes?: number): Bed => {
  const clock = new FakeClock()
  const log = recordingLog()
  const disk = openFolder(path)
  const folder: Folder = {
    read: (name, maxBytes) => disk.read(name, maxBytes),
    replace: async (name, pieces) => {
      if (bed.failure !== undefined) throw bed.failure
      bed.replaced.push(name)
      await disk.replace(name, pieces)
    },
  }
  const limit = maxBytes === undefined ? {} : { maxBytes }
  const lists = makeLastLists(
    { periodMs: 30_000, ...limit },
    { folder, clock, log, itemsOf: resource => bed.items[resource] },
  )
  const bed: Bed = { clock, log, lists, path, replaced: [], items: {}, failure: undefined }
  return bed
}

/** Real files take real time: let it pass. */
const until = async (holds: () => boolean): Promise<void> => {
  for (let i = 0; i < 5_000 && !holds(); i++) await new Promise(resolve => setTimeout(resolve, 2))
}

t.test('lists survive a restart, readable by their owner only', async t => {
  const bed = makeBed(t)
  bed.items = { nodes: [item('a'), item('b')], services: [item('x/y', '9')] }
  bed.items['servicecidrs'] = 'absent'
  for (const resource of Object.keys(bed.items)) bed.lists.changed(resource)
  await bed.clock.advance(800)
  t.strictSame(bed.replaced, [], 'not while the first lists still come')
  await bed.clock.advance(400)
  await until(() => bed.lists.writes === 3)
  t.strictSame(bed.replaced, ['nodes.list', 'services.list', 'servicecidrs.list'])
  t.equal(statSync(bed.path).mode & 0o777, 0o700)
  for (const name of readdirSync(bed.path))
    t.equal(statSync(join(bed.path, name)).mode & 0o777, 0o600, name)
  const next = makeBed(t, bed.path)
  const list = await next.lists.load('nodes')
  t.strictSame(list?.items, bed.items['nodes'])
  t.ok(list!.savedAt >= Date.UTC(2026, 0, 1))
  t.match(await next.lists.load('servicecidrs'), { items: 'absent' })
  t.equal(await next.lists.load('endpoints'), undefined, 'one that was never there')
  t.equal(next.log.lines.length, 0)
})

t.test(
  'flash is spared: only when something changed, rarely, and large lists more rarely',
  async t => {
    const bed = makeBed(t)
    bed.items['nodes'] = [item('a', '0', 1_000)]
    for (let second = 1; second <= 120; second++) {
      bed.items['nodes'] = [item('a', String(second), 1_000)]
      bed.lists.changed('nodes')
      await bed.clock.advance(1_000)
      await until(() => bed.lists.writes === bed.replaced.length)
    }
    t.equal(bed.replaced.length, 4, 'at 2, 32, 62 and 92 s')
    await bed.clock.advance(30_000)
    await until(() => bed.lists.writes === 5)
    bed.lists.changed('nodes')
    await bed.clock.advance(120_000)
    t.equal(bed.replaced.length, 5, 'said to be changed, but the same: not written')

    const large = makeBed(t, join(t.testdir(), 'large'))
    large.items['nodes'] = [item('a', '0', 3_000_000)]
    large.lists.changed('nodes')
    await large.clock.advance(6_000)
    await until(() => large.lists.writes === 1)
    large.items['nodes'] = [item('a', '1', 3_000_000)]
    large.lists.changed('nodes')
    await large.clock.advance(290_000)
    t.equal(large.replaced.length, 1)
    await large.clock.advance(15_000)
    await until(() => large.lists.writes === 2)
    t.equal(large.replaced.length, 2, '3 MB after 300 s')
  },
)

t.test('stop writes what has changed, and nothing after it', async t => {
  const bed = makeBed(t)
  bed.items['nodes'] = [item('a')]
  bed.lists.changed('nodes')
  await bed.lists.stop()
  t.strictSame(bed.replaced, ['nodes.list'])
  bed.lists.changed('nodes')
  await bed.clock.advance(60_000)
  t.strictSame(bed.replaced, ['nodes.list'])
  t.equal(bed.clock.waiting, 0)
})

t.test('only lists from the apiserver replace those on disk', async t => {
  const bed = makeBed(t)
  bed.items['nodes'] = undefined
  bed.lists.changed('nodes')
  await bed.clock.advance(60_000)
  await bed.lists.stop()
  t.strictSame(bed.replaced, [])
})

t.test('FW6: a list on disk is replaced only by another list', async t => {
  const bed = makeBed(t)
  bed.items = { nodes: [item('a')], servicecidrs: 'absent' }
  for (const what of ['nodes', 'servicecidrs']) bed.lists.changed(what)
  await bed.lists.stop()
  const next = makeBed(t, bed.path)
  // A 404 at boot, from whatever stands before an apiserver that hangs.
  next.items = { nodes: 'absent', servicecidrs: [item('b')] }
  for (const what of ['nodes', 'servicecidrs']) next.lists.changed(what)
  await next.lists.stop()
  t.strictSame(next.replaced, ['servicecidrs.list'])
  const last = makeBed(t, bed.path)
  t.strictSame((await last.lists.load('nodes'))?.items, [item('a')])
  t.strictSame((await last.lists.load('servicecidrs'))?.items, [item('b')])
})

t.test('FW3: a full disk is shown, and the old list stays', async t => {
  const bed = makeBed(t)
  bed.items['nodes'] = [item('a')]
  bed.lists.changed('nodes')
  await bed.clock.advance(2_000)
  await until(() => bed.lists.writes === 1)
  bed.failure = new Error('ENOSPC: no space left on device')
  bed.items['nodes'] = [item('b')]
  bed.lists.changed('nodes')
  await bed.clock.advance(60_000)
  await until(() => bed.lists.trouble !== undefined)
  t.match(bed.lists.trouble, /^nodes: /)
  t.equal(bed.lists.writes, 1)
  t.strictSame((await makeBed(t, bed.path).lists.load('nodes'))?.items, [item('a')])
})

t.test('a broken disk is logged once, and written to again when it works', async t => {
  const bed = makeBed(t)
  bed.failure = new Error('ENOSPC: no space left on device')
  bed.items['nodes'] = [item('a')]
  bed.lists.changed('nodes')
  await bed.clock.advance(100_000)
  t.equal(bed.log.lines.filter(({ level }) => level === 'error').length, 1)
  t.match(bed.lists.trouble, /nodes: ENOSPC/)
  bed.failure = undefined
  await bed.clock.advance(31_000)
  await until(() => bed.lists.writes === 1)
  t.equal(bed.lists.trouble, undefined)
  t.match(bed.log.lines.at(-1), { level: 'info', message: 'a list is kept on disk again' })
})

t.test('a list that cannot be kept is logged once, while others are kept', async t => {
  const bed = makeBed(t, undefined, 5_000)
  // The reason names the unfinished file, which has another name each time.
  mkdirSync(join(bed.path, 'endpoints.list', 'inside'), { recursive: true })
  for (let i = 1; i <= 5; i++) {
    bed.items = {
      nodes: [item('a', `${i}`, 6_000)],
      endpoints: [item('b', `${i}`)],
      services: [item('c', `${i}`)],
    }
    for (const resource of Object.keys(bed.items)) bed.lists.changed(resource)
    // Writes take real time, and waits between them the clock's.
    for (let turn = 0; turn < 5_000 && bed.lists.writes < i; turn++) {
      await bed.clock.advance(1_000)
      await new Promise(resolve => setTimeout(resolve, 2))
    }
  }
  t.equal(bed.lists.writes, 5, 'of services')
  await bed.lists.stop()
  t.strictSame(
    bed.log.lines.map(({ fields }) => fields['what']),
    ['nodes', 'endpoints'],
  )
  t.match(bed.lists.trouble, /^(nodes|endpoints): /, 'the status goes on telling')
})

t.test('files that cannot be used are logged and left alone', async t => {
  const path = join(t.testdir(), 'lists')
  mkdirSync(path)
  writeFileSync(join(path, 'nodes.list'), 'edge-health list 99 nodes 1 1\nfrom the future')
  writeFileSync(join(path, 'services.list'), 'garbage')
  mkdirSync(join(path, 'endpoints.list'))
  writeFileSync(join(path, 'servicecidrs.list'), Buffer.alloc(6_000))
  const bed = makeBed(t, path, 5_000)
  for (const resource of ['nodes', 'services', 'endpoints', 'servicecidrs'])
    t.equal(await bed.lists.load(resource), undefined, resource)
  t.match(
    bed.log.lines.map(({ fields }) => fields['error']),
    [/a newer version/, /not a list of ours/, /EISDIR/, /larger than 5000 bytes/],
  )
  t.match(readFileSync(join(path, 'nodes.list'), 'utf8'), /from the future/)
  bed.items['nodes'] = [item('a', '1', 6_000)]
  bed.lists.changed('nodes')
  await bed.clock.advance(6_000)
  t.match(bed.lists.trouble, /6\d\d\d bytes are more than 5000/, 'a list that is too large')
})

t.test('versions grow over each start, even with a clock beyond the year 2112', async t => {
  const bed = makeBed(t)
  let before = 0
  for (const year of [2150, 2150, 2026, 2150]) {
    const last = await makeBed(t, bed.path).lists.claimVersions(
      known => makeVersions(Date.UTC(year, 0, 1), known).newest,
    )
    const versions = makeVersions(Date.UTC(year, 0, 1), last)
    t.ok(versions.newest > before, `${year}: ${versions.newest}`)
    for (let i = 0; i < 1_000; i++) versions.next()
    before = versions.newest
    t.ok(Number.isSafeInteger(before))
  }
})

t.test(
  'versions of a new life are above those of the last, even if the clock went back',
  async t => {
    const bed = makeBed(t)
    const claim = (at: number): Promise<number> =>
      makeBed(t, bed.path).lists.claimVersions(last => Math.max(at, last + 1))
    t.equal(await claim(5_000), 0)
    const second = await claim(4_000)
    t.equal(second, 5_000 + 1_000_000_000)
    t.ok((await claim(1)) > second)
    writeFileSync(join(bed.path, 'served-version'), 'rubbish')
    t.equal(await claim(9), 0)
    writeFileSync(join(bed.path, 'served-version'), '9999999999999999')
    t.equal(await claim(9), 0, 'nobody can count from there')
    t.equal(await claim(9), 9 + 1_000_000_000)
    const broken = makeBed(t, bed.path)
    broken.failure = new Error('ENOSPC: no space left on device')
    t.ok((await broken.lists.claimVersions(last => last + 1)) > 0, 'it goes on without')
    t.match(broken.lists.trouble, /served-version/)
  },
)

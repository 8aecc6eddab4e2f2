// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import t from 'tap'
import { isMissing, replaceFile } from '../../net/atomic-file.js'
import { cleanEnvironment } from '../../testkit/bundle.js'

const texts = (...pieces: readonly string[]) => pieces.map(piece => Buffer.from(piece))

t.test('a file is replaced as a whole, for its owner alone', async t => {
  const folder = join(t.testdir(), 'new', 'folder')
  await replaceFile(folder, 'a', texts('one', '', ' two'))
  t.equal(readFileSync(join(folder, 'a'), 'utf8'), 'one two')
  t.equal(statSync(folder).mode & 0o777, 0o700)
  await replaceFile(folder, 'a', [])
  t.equal(readFileSync(join(folder, 'a'), 'utf8'), '')
  t.equal(statSync(join(folder, 'a')).mode & 0o777, 0o600)
  t.strictSame(readdirSync(folder), ['a'])
})

t.test('two that write one file at a time do not share the unfinished one', async t => {
  const folder = t.testdir()
  const inner: Promise<void>[] = []
  const pieces = function* (): Iterable<Uint8Array> {
    yield Buffer.from('first, ')
    // The other one begins and ends when this one is half done.
    inner.push(replaceFile(folder, 'a', texts('second')))
    yield Buffer.from('whole')
  }
  await replaceFile(folder, 'a', pieces())
  await Promise.all(inner)
  t.match(readFileSync(join(folder, 'a'), 'utf8'), /^(first, whole|second)$/)
  t.strictSame(readdirSync(folder), ['a'])
})

t.test('what a crash left is removed, what another process writes is not', async t => {
  const others = ['.b.0123456789abcdef.new', '.hidden', 'b.new']
  const left = ['.a.new', '.a.0123456789abcdef.new', '.c.0123456789abcdef.new']
  const root = t.testdir({
    state: Object.fromEntries([...left, ...others].map(name => [name, 'x'])),
  })
  const folder = join(root, 'state')
  const now = Date.now() / 1000
  for (const name of [...left, ...others.slice(1)])
    utimesSync(join(folder, name), now, name === left[2] ? now + 86_400 : now - 86_400)
  await replaceFile(folder, 'a', texts('x'))
  t.strictSame(readdirSync(folder).sort(), [...others, 'a'].sort())
})

t.test('what cannot be removed keeps nothing else', async t => {
  const folder = t.testdir({ '.a.folder.new': {}, '.b.0123456789abcdef.new': 'x' })
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), 0, 0)
  await replaceFile(folder, 'a', texts('x'))
  t.strictSame(readdirSync(folder).sort(), ['.a.folder.new', 'a'])
})

t.test('an error that says that a file is missing', async t => {
  const folder = t.testdir({ a: '' })
  const errorOf = (path: string): Promise<unknown> =>
    readFile(path).then(
      () => undefined,
      (error: unknown) => error,
    )
  t.ok(isMissing(await errorOf(join(folder, 'b'))))
  for (const error of [await errorOf(folder), new Error('ENOENT'), { code: 'ENOENT' }, undefined])
    t.notOk(isMissing(error))
})

t.test('what cannot be renamed leaves nothing behind', async t => {
  const folder = t.testdir({ a: { inside: '' } })
  await t.rejects(replaceFile(folder, 'a', texts('x')))
  t.strictSame(readdirSync(folder), ['a'])
  mkdirSync(join(folder, 'b'))
  await t.rejects(
    replaceFile(join(folder, 'a', 'inside'), 'b', texts('x')),
    { code: /ENOTDIR|EEXIST/ },
    'no folder',
  )
})

t.test('FW3: a disk that takes a part alone keeps the old file', async t => {
  const folder = t.testdir({ kept: 'old' })
  const module = join(folder, 'atomic-file.mjs')
  buildSync({
    entryPoints: [join(import.meta.dirname, '../../net/atomic-file.ts')],
    ...{ bundle: true, platform: 'node', format: 'esm', outfile: module, logLevel: 'error' },
  })
  // Beyond its limit a write takes what fits, and only the next one fails: what a full disk does too.
  const script = `
    import { replaceFile } from ${JSON.stringify(module)}
    import { open } from 'node:fs/promises'
    process.on('SIGXFSZ', () => undefined)
    const piece = Buffer.alloc(100_000, 1)
    const file = await open(${JSON.stringify(join(folder, 'probe'))}, 'w')
    const { bytesWritten } = await file.write(piece)
    const error = await replaceFile(${JSON.stringify(folder)}, 'kept', [piece]).catch(error => error)
    console.log(JSON.stringify({ bytesWritten, code: error?.code }))`
  writeFileSync(join(folder, 'script.mjs'), script)
  const { stdout, stderr, status, signal } = spawnSync(
    'bash',
    ['-c', 'ulimit -f 64; exec "$0" "$1"', process.execPath, join(folder, 'script.mjs')],
    { encoding: 'utf8', env: cleanEnvironment() },
  )
  t.strictSame(
    JSON.parse(stdout || '{}'),
    { bytesWritten: 65_536, code: 'EFBIG' },
    `${stderr} ${status} ${signal}`,
  )
  t.equal(readFileSync(join(folder, 'kept'), 'utf8'), 'old')
  t.strictSame(
    readdirSync(folder).filter(name => name.endsWith('.new')),
    [],
  )
})

/** The disk as it is, but for what one call answers. */
const disk =
  (call: 'write' | 'stat' | 'sync', answer: () => Promise<unknown>, only: 'file' | 'folder') =>
  async (...args: Parameters<typeof open>) => {
    const handle = await open(...args)
    if ((args[1] === 'r') === (only === 'folder')) Object.assign(handle, { [call]: answer })
    return handle
  }
const failing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }))

t.test('FW3: nothing that a disk says is taken for success but success', async t => {
  const rows: [why: string, openFile: typeof open, rule: RegExp | undefined, left: string][] = [
    [
      'nothing is taken',
      disk('write', async () => ({ bytesWritten: 0 }), 'file'),
      /no more/,
      'old',
    ],
    ['not all is there', disk('stat', async () => ({ size: 1 }), 'file'), /kept 1 of 3/, 'old'],
    ['the file is not on disk', disk('sync', failing('EIO'), 'file'), /EIO/, 'old'],
    ['the name is not on disk', disk('sync', failing('EIO'), 'folder'), /EIO/, 'new'],
    ['no folder can be asked', disk('sync', failing('EINVAL'), 'folder'), undefined, 'new'],
    ['nor here', disk('sync', failing('ENOTSUP'), 'folder'), undefined, 'new'],
  ]
  for (const [why, openFile, rule, left] of rows) {
    const folder = t.testdir({ kept: 'old' })
    const done = replaceFile(folder, 'kept', texts('new'), openFile)
    await (rule === undefined ? done : t.rejects(done, { message: rule }, why))
    t.equal(readFileSync(join(folder, 'kept'), 'utf8'), left, why)
    t.strictSame(readdirSync(folder), ['kept'], why)
  }
})

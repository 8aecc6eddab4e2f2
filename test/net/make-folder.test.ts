// SPDX-License-Identifier: Apache-2.0
import { chmodSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeFolder } from '../../net/make-folder.js'

const modeOf = (path: string): number => statSync(path).mode & 0o777

t.test('a folder is made for its owner alone, and those above it', async t => {
  const above = join(t.testdir(), 'a')
  await Promise.all(['x', 'y', 'x'].map(name => makeFolder(join(above, 'b', name))))
  for (const path of ['', 'b', 'b/x', 'b/y']) t.equal(modeOf(join(above, path)), 0o700, path)
})

t.test('a folder that is there stays as it is', async t => {
  const folder = t.testdir({ open: {} })
  chmodSync(join(folder, 'open'), 0o755)
  symlinkSync('open', join(folder, 'link'))
  for (const name of ['open', 'link']) await makeFolder(join(folder, name))
  t.equal(modeOf(join(folder, 'open')), 0o755)
})

t.test('a folder that cannot be made is refused at once', async t => {
  const folder = t.testdir({ file: '' })
  symlinkSync('/nowhere', join(folder, 'link'))
  for (const name of ['file', 'link', 'link/x'])
    await t.rejects(makeFolder(join(folder, name)), { code: 'EEXIST' }, name)
  await t.rejects(makeFolder(join(folder, 'file', 'x')), { code: 'ENOTDIR' })
  await t.rejects(makeFolder(''), { code: 'ENOENT' })
  if (process.platform !== 'linux') return
  for (const path of ['/proc/x', '/proc/x/y'])
    await t.rejects(makeFolder(path), { code: 'ENOENT' }, path)
})

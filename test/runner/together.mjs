// SPDX-License-Identifier: Apache-2.0
// Small test files that share a process: to start one, and to load tap and what they all test, costs more than what each of
// them does. Each file is a test of its own, one after the other: what it imports as tap is that test, so that its teardown,
// its time limit and its folder are its own as well (tap-of-file.mjs).
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const root = join(import.meta.dirname, '..', '..')
const FOLDER = '.cache/together'

let current

/** The test that the file which is being loaded is. */
export const testOfFile = () => current

export const isGroup = path => path.startsWith(`${FOLDER}/`)

/** The test files of a group. */
export const filesOfGroup = path =>
  [...readFileSync(join(root, path), 'utf8').matchAll(/^ {2}'(.+)',$/gm)].map(([, file]) => file)

export const textOfGroup = files => {
  const list = files.map(file => `  '${file}',\n`).join('')
  return `import { playTogether } from '../../test/runner/together.mjs'\n\nawait playTogether([\n${list}])\n`
}

/** What tap is to run in place of these groups' files. */
export const writeGroups = groups => {
  rmSync(join(root, FOLDER), { recursive: true, force: true })
  mkdirSync(join(root, FOLDER), { recursive: true })
  return groups.map(({ name, files }) => {
    const path = `${FOLDER}/${name}.mjs`
    writeFileSync(join(root, path), textOfGroup(files))
    return path
  })
}

export const playTogether = async files => {
  const { default: t } = await import('tap')
  for (const file of files)
    t.test(file, async t => {
      current = t
      await import(pathToFileURL(join(root, file)).href)
    })
}

// SPDX-License-Identifier: Apache-2.0
// Coverage is demanded where rules and limits live: core, vote, plan, plugins, net, and what of the programs is pure. A test answers for the file
// that it mirrors (test/vote/quorum.test.ts → vote/quorum.ts); test/every-file.test.ts answers for all of them, so that
// none can hide.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { filesOfGroup, isGroup } from './runner/together.mjs'

const folders = [
  'core',
  'vote',
  'plan',
  'plugins',
  'net',
  'wrapper/wire',
  'wrapper/prune',
  'grids/model',
  'bridge/model',
  'admission/model',
]
const everyFile = () =>
  folders.flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .map(name => join(folder, name)),
  )

export default test => {
  const path = test.replaceAll('\\', '/')
  if (path === 'test/every-file.test.ts') return everyFile()
  const files = isGroup(path) ? filesOfGroup(path) : [path]
  const isDemanded = file => folders.some(folder => file.startsWith(`test/${folder}/`))
  return files.some(isDemanded) ? everyFile() : null
}

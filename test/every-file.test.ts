// SPDX-License-Identifier: Apache-2.0
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')

for (const folder of [
  'core',
  'vote',
  'plan',
  'plugins',
  'net',
  'kube',
  'options',
  'agent',
  'sandbox',
  'wrapper',
  'controller',
  'grids',
]) {
  for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue
    await t.resolves(
      import(join(root, folder, name)),
      `${folder}/${name} loads without side effects`,
    )
  }
}

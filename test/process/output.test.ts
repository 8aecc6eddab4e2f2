// SPDX-License-Identifier: Apache-2.0
// What the program prints, as a pipe gets it.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sleep, systemClock } from '../../core/clock.js'
import { buildBundle } from '../../testkit/bundle.js'
import { deploymentGrid } from '../../testkit/kube/grid-objects.js'

/** A hang, not a measurement. */
t.setTimeout(900_000)
const script = buildBundle(t)

const UNITS = 1_000

t.test('whoever reads slowly gets all of it', async t => {
  const folder = t.testdir()
  const file = (name: string, value: unknown): string => {
    const path = join(folder, name)
    writeFileSync(path, JSON.stringify(value))
    return path
  }
  const items = Array.from({ length: UNITS }, (_, at) => ({
    ...{ apiVersion: 'v1', kind: 'Node' },
    metadata: { name: `n${at}`, labels: { site: `u${at}` } },
  }))
  const nodes = file('nodes.json', { apiVersion: 'v1', kind: 'List', items })
  const grid = file('grid.json', deploymentGrid('web'))
  const args = [script, 'grids', 'render', '-f', grid, '--nodes', nodes, '-o', 'json']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  await once(child.stdout, 'readable')
  // Longer than handles that are still open keep the process alive.
  await sleep(systemClock, 2_500, new AbortController().signal)
  let text = ''
  for await (const part of child.stdout.setEncoding('utf8')) text += String(part)
  const list = JSON.parse(text) as { readonly items: readonly unknown[] }
  t.equal(list.items.length, UNITS)
  t.strictSame(await ended, [0, null])
})

t.test('a reader that goes is no error, a full disk is', { skip: !existsSync('/dev/full') }, t => {
  const first = spawnSync('sh', ['-c', '"$0" "$1" man | head -1', process.execPath, script], { encoding: 'utf8' }) // prettier-ignore
  t.match(first, { status: 0, stderr: '' })
  const full = openSync('/dev/full', 'w')
  t.teardown(() => closeSync(full))
  const { status, stderr } = spawnSync(process.execPath, [script, 'man'], { encoding: 'utf8', stdio: ['ignore', full, 'pipe'] }) // prettier-ignore
  t.equal(status, 1)
  t.match(stderr, /^edge-health: the output cannot be written: ENOSPC/)
  t.end()
})

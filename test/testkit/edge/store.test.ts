// SPDX-License-Identifier: Apache-2.0
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { fileStore } from '../../../testkit/edge/store.js'

t.test('what an edge stored is there after a crash, but for a line that was cut short', t => {
  const dir = mkdtempSync(join(tmpdir(), 'edge-health-store-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'edges', 'e1.jsonl')
  const first = fileStore(path)
  first.set('default/pod/a', { n: 1 })
  first.set('default/pod/ä', { n: 1 })
  first.set('default/pod/a', { n: 2 })
  first.set('default/secret/s', null)
  first.delete('default/pod/ä')
  appendFileSync(path, '["default/pod/c",{"n')
  const rows = [
    ['default/pod/a', { n: 2 }],
    ['default/secret/s', null],
  ]
  const second = fileStore(path)
  t.strictSame(second.entries, rows)
  second.set('default/pod/d', 1)
  t.strictSame(fileStore(path).entries, [...rows, ['default/pod/d', 1]])
  t.equal(second.get('default/pod/c'), undefined)
  t.end()
})

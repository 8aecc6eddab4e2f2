// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LOCAL_LIMITS, PEER_BYTES, PEER_LIMITS } from '../../agent/http/limits.js'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const page = read('docs/security.md').replace(/\s+/g, ' ')
const thousands = (count: number) => String(count).replace(/(\d)(\d{3})$/, '$1 $2')
const mib = (bytes: number) => `${bytes / 2 ** 20} MiB`

t.test('limits that docs/security.md names are those of the code', t => {
  const { total, strangers, perStranger, perMember, headerBytes, headerMs, bodyMs } = PEER_LIMITS
  const { total: bytes, perSource, reserved = 0 } = PEER_BYTES
  for (const sentence of [
    `${thousands(total)} connections may be open, of which strangers have ${strangers}, ${perStranger} from one IPv4 address`,
    `a member, known by the address of its Node, has ${perMember}`,
    `Headers (${headerBytes / 1024} KiB) have ${headerMs / 1_000} s, bodies ${bodyMs / 1_000} s.`,
    `${mib(bytes)} for all bodies, ${mib(bytes - reserved)} of it for strangers, ${mib(perSource)} for one source`,
  ])
    t.ok(page.includes(sentence), sentence)
  const { total: local, strangers: others } = LOCAL_LIMITS
  t.equal((local - others) / local, 1 / 4, 'a quarter is for root and the own user')
  t.end()
})

/** What the page says, and the line of the code that makes it so. */
const rows: [sentence: string, file: string, code: string][] = [
  [
    'they are limited to 512 KiB',
    'agent/stages/exchange/superedge/superedge.ts',
    'Math.min(512 << 10,',
  ],
  ['At least 16 bytes', 'agent/key-ring.ts', 'MIN_KEY_BYTES = 16\n'],
  ['stood still for more than 5 s', 'agent/suspension.ts', 'SUSPENDED_MS = 5_000\n'],
  ['3 MiB each', 'wrapper/proxy/held-bodies.ts', 'MAX_BODY_BYTES = 3 << 20\n'],
  ['12 MiB together', 'wrapper/proxy/held-bodies.ts', 'TOTAL_BYTES = 12 << 20\n'],
  ['for at most 30 seconds', 'wrapper/proxy/held-bodies.ts', 'BODY_MS = 30_000\n'],
  ['64 connections, headers of 64 KiB', 'wrapper/listeners.ts', 'total: 64,\n  strangers: 16,'],
  ['within 10 s, and of a body', 'wrapper/listeners.ts', 'headerMs: 10_000,'],
  ['something every 30 s', 'wrapper/listeners.ts', 'bodyMs: 30_000,'],
  [
    'a frame is at most 8 MiB',
    'wrapper/upstream/item-codec.ts',
    'MAX_FRAME_BYTES = 8 * 1024 * 1024',
  ],
]
t.test('and so are those that stand in one file alone', t => {
  for (const [sentence, file, code] of rows) {
    t.ok(page.includes(sentence), sentence)
    t.ok(read(file).includes(code), `${sentence}: ${file}: ${code.trim()}`)
  }
  t.end()
})

t.test('agent and wrapper listen through net/ alone', t => {
  for (const folder of ['agent', 'wrapper', 'cli', 'kube', 'core', 'plugins']) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts')) continue
      const [found] = /\bcreate(Secure)?Server\(|\.listen\(/.exec(read(join(folder, name))) ?? []
      t.equal(found, undefined, `${folder}/${name}`)
    }
  }
  t.match(read('net/listen.ts'), /createServer\(/)
  t.end()
})

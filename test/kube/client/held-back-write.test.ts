// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import t from 'tap'
import { cleanEnvironment } from '../../../testkit/bundle.js'

const ISOLATED = ['--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'] as const
const canCut =
  spawnSync('unshare', [...ISOLATED, 'iptables', '-S'], { env: cleanEnvironment() }).status === 0

t.test(
  'a write that its caller withdraws while the link is cut does not arrive when it is back',
  canCut ? {} : { skip: 'needs root, iproute2 and iptables' },
  async t => {
    const program = join(t.testdir(), 'held-back-write.mjs')
    buildSync({
      entryPoints: [join(import.meta.dirname, '../../../testkit/kube/held-back-write.ts')],
      ...{ bundle: true, platform: 'node', format: 'esm', packages: 'external' },
      ...{ outfile: program, logLevel: 'error' },
    })
    const { stdout, stderr } = spawnSync('unshare', [...ISOLATED, process.execPath, program], {
      ...{ encoding: 'utf8', env: cleanEnvironment() },
    })
    t.strictSame(
      JSON.parse(stdout || '{}'),
      // With HTTP/1.1 it does: that it does here shows that the kernel still had it.
      { http1: ['GET', 'PATCH'], http2: ['GET'] },
      stderr,
    )
  },
)

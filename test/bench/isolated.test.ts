// SPDX-License-Identifier: Apache-2.0
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..', '..')
const { makeSingleFile } = (await import(
  new URL('../../testkit/single-file.mjs', import.meta.url).href
)) as { makeSingleFile: (entry: string, outfile: string) => Promise<void> }
const ISOLATED = JSON.stringify(join(root, 'bench', 'wrapper', 'isolated.ts'))
const OWN_FOLDER = JSON.stringify(join(root, 'bench', 'own-folder.mjs'))
const hasNamespaces = spawnSync('unshare', ['--net', '--pid', '--fork', 'true']).status === 0
const skip = hasNamespaces ? false : 'no namespaces without root'

/** A bench that starts a program, leaves a file and goes on for ever. */
const BENCH = `
import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { useOwnFolder } from ${OWN_FOLDER}
import { isIsolated, runIsolated } from ${ISOLATED}
if (isIsolated) {
  writeFileSync(join(mkdtempSync(join(tmpdir(), 'left-')), 'file'), 'text')
  spawn('sleep', ['600'], { stdio: 'inherit' }).once('spawn', () => console.log('runs'))
} else {
  useOwnFolder()
  process.exitCode = await runIsolated()
}
`

for (const [signal, exitCode] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)
  t.test(
    `all that a bench has started ends with it, and leaves nothing: ${signal}`,
    { skip },
    async t => {
      const folder = t.testdir({
        'bench.ts': BENCH,
        programs: { etcd: '', 'kube-apiserver': '', kubectl: '' },
        tmp: {},
      })
      const KUBEBUILDER_ASSETS = join(folder, 'programs')
      for (const name of readdirSync(KUBEBUILDER_ASSETS))
        chmodSync(join(KUBEBUILDER_ASSETS, name), 0o755)
      const TMPDIR = join(folder, 'tmp')
      const outfile = join(root, '.cache', `isolated-test-${process.pid}.mjs`)
      await makeSingleFile(join(folder, 'bench.ts'), outfile)
      t.teardown(() => rmSync(outfile, { force: true }))
      const bench = spawn(process.execPath, [outfile], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, TMPDIR, KUBEBUILDER_ASSETS },
      })
      t.teardown(() => bench.kill('SIGKILL'))
      const [said] = (await once(bench.stdout, 'data')) as [Buffer]
      t.equal(said.toString(), 'runs\n')
      t.equal(readdirSync(TMPDIR).length, 1)
      // All of them write there: it closes when all have ended.
      const closed = once(bench.stdout, 'close')
      bench.kill(signal)
      t.strictSame(await once(bench, 'exit'), [exitCode, null])
      await closed
      t.strictSame(readdirSync(TMPDIR), [])
    },
  )

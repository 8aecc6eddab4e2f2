// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')

t.test('the package holds the program, built from the sources as they are now', t => {
  const folder = mkdtempSync(join(tmpdir(), 'edge-health-pack-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const run = (command: string, args: readonly string[], cwd = folder) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
    return stdout
  }
  // Another folder than the working one, where other tests may build at the same time.
  const from = join(folder, 'source')
  mkdirSync(from)
  const copy =
    'git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$0"'
  run('sh', ['-c', copy, from], root)
  run('ln', ['-s', join(root, 'node_modules'), join(from, 'node_modules')])
  run('npm', ['pack', '--silent', '--pack-destination', folder], from)
  run('tar', ['--extract', '--gzip', '--file', 'edge-health-0.1.0.tgz'])
  const program = join(folder, 'package', 'dist', 'edge-health.cjs')
  t.equal(run(process.execPath, [program, '--version']), '0.1.0\n')
  t.match(run(process.execPath, [program, 'demo', '--help']), /--scene <name>/)
  const plugin = join(folder, 'package', 'dist', 'kubectl-edge_health.cjs')
  t.match(run(plugin, ['zones', '--help']), /^Usage: edge-health cluster zones /)
  const completer = join(folder, 'package', 'dist', 'kubectl_complete-edge_health.cjs')
  t.match(run(completer, ['zo']), /^zones\t.*\n:4\n$/)
  t.match(
    run('ls', ['package']),
    /CHANGELOG\.md\nLICENSE\nREADME\.md\ncharts\ndeploy\ndist\ndocs\n/,
  )
  t.end()
})

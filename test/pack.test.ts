// SPDX-License-Identifier: Apache-2.0
import { join } from 'node:path'
import t from 'tap'
import { runIn, unpackPackage } from '../testkit/packed.js'

t.test('the package holds the program, built from the sources as they are now', t => {
  const folder = unpackPackage(t)
  const program = join(folder, 'dist', 'edge-health.cjs')
  t.equal(runIn(folder, process.execPath, [program, '--version']), '0.1.0\n')
  const plugin = join(folder, 'dist', 'kubectl-edge_health.cjs')
  t.match(runIn(folder, plugin, ['zones', '--help']), /^Usage: edge-health cluster zones /)
  const completer = join(folder, 'dist', 'kubectl_complete-edge_health.cjs')
  t.match(runIn(folder, completer, ['zo']), /^zones\t.*\n:4\n$/)
  t.match(
    runIn(folder, 'ls', []),
    /CHANGELOG\.md\nLICENSE\nREADME\.md\ncharts\ndeploy\ndist\ndocs\n/,
  )
  t.end()
})

// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

const root = join(import.meta.dirname, '..')

/** @returns what it said. @throws when it fails */
export const runIn = (cwd: string, command: string, args: readonly string[]): string => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
  return stdout
}

/** What `npm pack` makes of the sources as they are now, unpacked in a folder that goes with the test. */
export const unpackPackage = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'edge-health-pack-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  // Another folder than the working one, where other tests may build at the same time.
  const from = join(folder, 'source')
  mkdirSync(from)
  const copy =
    'git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$0"'
  runIn(root, 'sh', ['-c', copy, from])
  runIn(folder, 'ln', ['-s', join(root, 'node_modules'), join(from, 'node_modules')])
  runIn(from, 'npm', ['pack', '--silent', '--pack-destination', folder])
  runIn(folder, 'tar', ['--extract', '--gzip', '--file', 'edge-health-0.1.0.tgz'])
  return join(folder, 'package')
}

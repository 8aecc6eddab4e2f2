// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { UsageError } from './options.js'
import { argumentsFor, findOther } from './other-version.js'

const BUILD = `import { mkdirSync, writeFileSync } from 'node:fs'
mkdirSync('dist')
writeFileSync('dist/edge-health.cjs', 'VERSION')
`

const gitIn = (root: string, ...args: readonly string[]): string => {
  const who = ['-c', 'user.name=n', '-c', 'user.email=e@example.com', '-c', 'commit.gpgsign=false']
  return execFileSync('git', [...who, ...args], { cwd: root, encoding: 'utf8' }).trim()
}

/** A repository whose build writes what it is told to. @returns its commits, oldest first */
const repository = (root: string, ...builds: readonly string[]): readonly string[] => {
  mkdirSync(root, { recursive: true })
  gitIn(root, 'init', '--quiet')
  return builds.map((build, i) => {
    writeFileSync(join(root, 'build.mjs'), build)
    gitIn(root, 'add', '.')
    gitIn(root, 'commit', '--quiet', '-m', `version ${i}`)
    return gitIn(root, 'rev-parse', 'HEAD')
  })
}

t.test('a revision is built beside what is there, once', async t => {
  const root = t.testdir()
  const [old = ''] = repository(root, BUILD.replace('VERSION', 'old'), BUILD)
  const program = findOther('HEAD~1', root)
  t.equal(readFileSync(program, 'utf8'), 'old')
  t.strictSame(readdirSync(root).toSorted(), ['.cache', '.git', 'build.mjs'])
  t.strictSame(readdirSync(join(root, '.cache/lab/other')), [old], 'the sources are gone')
  writeFileSync(program, 'kept')
  t.equal(readFileSync(findOther(old.slice(0, 8), root), 'utf8'), 'kept')
})

t.test('a file is taken as it is', async t => {
  const root = t.testdir({ 'other.cjs': '' })
  t.equal(findOther('other.cjs', root), join(root, 'other.cjs'))
  t.equal(findOther(join(root, 'other.cjs'), '/'), join(root, 'other.cjs'))
})

t.test('a revision that is not there, or cannot be built', async t => {
  const folder = t.testdir()
  const root = join(folder, 'whole')
  const [old = ''] = repository(root, 'throw new Error("no build today")', 'void 0')
  const refused = (name: string, message: RegExp, from = root): void => {
    t.type(
      t.throws(() => findOther(name, from), { message }),
      UsageError,
    )
  }
  refused('v9', /--other must be .* or a revision of this repository, got v9/)
  refused(old, /^--other: [0-9a-f]{40} cannot be built: .*no build today/s)
  refused('HEAD', /cannot be built: $/)
  t.strictSame(readdirSync(join(root, '.cache/lab/other')), [])
  const shallow = join(folder, 'shallow')
  gitIn(root, 'clone', '--quiet', '--depth=1', `file://${root}`, shallow)
  refused(old, /this clone is shallow, git fetch --unshallow .* got /, shallow)
})

t.test('a version is started with the options that it has', async t => {
  const args = ['agent', '--state-dir=/s', '--identity=prefer']
  t.strictSame(argumentsFor('x', '  --state-dir DIR   where\n  --link-slot S', args), {
    ...{ script: 'x', args: ['agent', '--state-dir=/s'], signs: false },
  })
  t.match(argumentsFor('x', '--identity HOW  --state-dir DIR', args), { args, signs: true })
})

// SPDX-License-Identifier: Apache-2.0
// Another version of the agent: a file, or a revision of this repository, which is built once and kept.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { UsageError } from './options.js'

const PROGRAM = 'dist/edge-health.cjs'
/** Inside the checkout, so that its packages are found. */
const KEPT = '.cache/lab/other'

const git = (root: string, ...args: readonly string[]) =>
  spawnSync('git', args, { cwd: root, encoding: 'utf8' })

const commitOf = (root: string, name: string): string => {
  const { status, stdout } = git(root, 'rev-parse', '--verify', '--quiet', `${name}^{commit}`)
  if (status === 0) return stdout.trim()
  const isShallow = git(root, 'rev-parse', '--is-shallow-repository').stdout.includes('true')
  const why = isShallow ? ': this clone is shallow, git fetch --unshallow gets the others' : ''
  throw new UsageError(
    `--other must be a dist/edge-health.cjs or a revision of this repository${why}, got ${name}`,
  )
}

/** Unpack and build beside what is there. @throws UsageError with what the build said. */
const buildInto = (root: string, commit: string, folder: string): void => {
  mkdirSync(dirname(folder), { recursive: true })
  const scratch = mkdtempSync(`${folder}-`)
  try {
    const archive = `${scratch}/all.tar`
    execFileSync('git', ['archive', `--output=${archive}`, commit], { cwd: root })
    execFileSync('tar', ['-xf', archive, '-C', scratch])
    const build = spawnSync(process.execPath, ['build.mjs', '--quiet'], {
      ...{ cwd: scratch, encoding: 'utf8' },
    })
    if (build.status !== 0 || !existsSync(join(scratch, PROGRAM)))
      throw new UsageError(`--other: ${commit} cannot be built: ${build.stderr.trim()}`)
    mkdirSync(folder, { recursive: true })
    rmSync(join(folder, 'dist'), { recursive: true, force: true })
    renameSync(join(scratch, 'dist'), join(folder, 'dist'))
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/**
 * The program of another version.
 * @param name a file, or what git takes for a commit
 * @throws UsageError when it is neither
 */
export const findOther = (name: string, root = process.cwd()): string => {
  const file = resolve(root, name)
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return file
  const commit = commitOf(root, name)
  const folder = join(root, KEPT, commit)
  const program = join(folder, PROGRAM)
  if (!existsSync(program)) buildInto(root, commit, folder)
  return program
}

/** How its agents are started, beside those of the present version. */
export interface OtherVersion {
  readonly script: string
  readonly args: readonly string[]
  /** It knows identities, and signs if the zone does. */
  readonly signs: boolean
}

/** These arguments, without the options that an earlier version does not have, by the help of its agent. */
export const argumentsFor = (
  script: string,
  help: string,
  args: readonly string[],
): OtherVersion => {
  const known = new Set(help.match(/--[a-z][a-z-]*/g))
  const isKnown = (argument: string): boolean => {
    const option = /^--[a-z-]+/.exec(argument)?.[0]
    return option === undefined || known.has(option)
  }
  return { script, args: args.filter(isKnown), signs: known.has('--identity') }
}

export const otherVersion = (script: string, args: readonly string[]): OtherVersion => {
  const help = execFileSync(process.execPath, [script, 'agent', '--help'], { encoding: 'utf8' })
  return argumentsFor(script, help, args)
}

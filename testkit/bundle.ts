// SPDX-License-Identifier: Apache-2.0
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

const root = join(import.meta.dirname, '..')

/** The program as it ships, built from the sources as they are now, in a folder that goes with the test. */
export const buildBundle = (t: Test): string => {
  const outdir = mkdtempSync(join(tmpdir(), 'edge-health-test-'))
  t.teardown(() => rmSync(outdir, { recursive: true, force: true }))
  const args = ['build.mjs', '--quiet', '--outdir', outdir]
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`the bundle does not build: ${stderr}`)
  return join(outdir, 'edge-health.cjs')
}

/** What children see of the environment: neither the test runner's hooks nor options of ours. */
export const cleanEnvironment = (
  more: Readonly<Record<string, string>> = {},
): Record<string, string> => ({ PATH: process.env['PATH'] ?? '', ...more })

/** How a program ended, and what it said. */
export interface Finished {
  readonly code: number | null
  readonly signal: string | null
  readonly out: string
  readonly err: string
  readonly ms: number
}

/** A program under test. */
export interface Running {
  readonly pid: number
  /** What it wrote to stderr so far. */
  readonly err: () => string
  readonly ended: Promise<Finished>
  kill(signal: NodeJS.Signals): void
}

const dockerfile = (): string => readFileSync(join(root, 'docker', 'Dockerfile'), 'utf8')

/** The flags for V8 with which the image runs the agent. */
export const shippedFlags = (): readonly string[] => {
  const line = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile())?.[1] ?? '[]'
  return (JSON.parse(line) as string[]).filter(part => part.startsWith('--'))
}

/** The image's settings of malloc. */
export const shippedMalloc = (): Readonly<Record<string, string>> => {
  const settings = dockerfile().matchAll(/\b(MALLOC_\w+)=(\d+)/g)
  return Object.fromEntries([...settings].map(([, name, value]) => [name!, value!]))
}

/** Start the bundle; it is ended with the test in any case. */
export const startBundle = (
  t: Test,
  /** The bundle, behind flags for Node if there are any. */
  script: string | readonly string[],
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running => {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [script, args].flat(2), {
    env: cleanEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const ended = new Promise<Finished>(resolve => {
    child.once('close', (code, signal) =>
      resolve({ code, signal, out, err, ms: performance.now() - startedAt }),
    )
  })
  // Also when the test itself runs out of time and is ended.
  const end = (): void => void child.kill('SIGKILL')
  process.once('exit', end)
  t.teardown(async () => {
    end()
    process.off('exit', end)
    await ended
  })
  return {
    pid: child.pid!,
    err: () => err,
    ended,
    kill: signal => void child.kill(signal),
  }
}

/** The command lines of all processes of this machine. */
const commandLines = (): readonly string[] => {
  if (process.platform !== 'linux')
    return spawnSync('ps', ['-axo', 'pid,command'], { encoding: 'utf8' }).stdout.split('\n')
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(pid => {
      try {
        return [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`]
      } catch {
        return [] // It ended meanwhile.
      }
    })
}

/** Processes that have `text` in their command line. */
export const processesWith = (text: string): readonly string[] =>
  commandLines().filter(line => line.includes(text))

/** Look until something is there, each 50 ms; the last look's error says what was missing. */
export const eventually = async <T>(
  what: string,
  limitMs: number,
  look: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> => {
  const endsAt = performance.now() + limitMs
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (performance.now() > endsAt) throw new Error(`not within ${limitMs} ms: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

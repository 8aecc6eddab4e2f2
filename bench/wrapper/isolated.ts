// SPDX-License-Identifier: Apache-2.0
// The lab's programs listen on fixed ports: in a network of their own they are in nobody's way.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { MissingError } from '../../testkit/control-plane/go-build.js'
import { findPlane } from '../grids/plane.js'
import { rowsText, type Row } from './table.js'

const INSIDE = 'BENCH_INSIDE'
const NAMESPACES = ['--net', '--pid', '--fork', '--mount-proc', '--kill-child']

/** Whether this is the process that `runIsolated` started. */
export const isIsolated = process.env[INSIDE] === 'yes'

/** Build the bundle that is measured. Ends the process with 1 when that fails. */
export const buildBundle = (): void => {
  const { status } = spawnSync(process.execPath, ['build.mjs', '--quiet'], { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}

interface Isolation {
  /** Further flags of `unshare`: the first that work here are taken. @default none */
  readonly ways?: readonly (readonly string[])[]
  /** Builds what is needed beside the control plane. @throws MissingError where it cannot be had */
  readonly prepare?: () => void
}

/**
 * Run this bench again with the same arguments, in namespaces of its own. Control plane and what `prepare` builds are built
 * before, if they are not there yet: inside is no network to have their modules from. Ends the process with 2 when they cannot be.
 * When this process exits, all in there ends.
 * @returns its exit code; undefined when this machine allows no namespaces
 */
export const runIsolated = async ({
  ways = [[]],
  prepare = () => undefined,
}: Isolation = {}): Promise<number | undefined> => {
  const flags = ways
    .map(more => [...more, ...NAMESPACES])
    .find(all => spawnSync('unshare', [...all, 'true']).status === 0)
  if (flags === undefined) return undefined
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  try {
    await findPlane(say)
    prepare()
  } catch (error) {
    if (!(error instanceof MissingError)) throw error
    say(error.message)
    process.exit(2)
  }
  const script = 'ip link set lo up && exec "$@"'
  const again = [process.execPath, fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  const child = spawn('unshare', [...flags, 'sh', '-c', script, 'sh', ...again], {
    stdio: 'inherit',
    env: { ...process.env, [INSIDE]: 'yes' },
  })
  // `unshare` ignores SIGINT and SIGTERM, and so does the first process of a namespace; its end is theirs.
  process.prependOnceListener('exit', () => child.kill('SIGKILL'))
  const [code] = (await once(child, 'close')) as [number | null]
  return code ?? 1
}

/** Print the rows, as JSON or as a table, and end the process: with 1 when a bar is missed. */
export const finish = (rows: readonly Row[], output: string): never => {
  process.stdout.write(`${rowsText(rows, output)}\n`)
  process.exit(rows.some(({ isMet }) => isMet === false) ? 1 : 0)
}

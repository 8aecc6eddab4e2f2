// SPDX-License-Identifier: Apache-2.0
// Two real processes stand for one election, and the one that leads is stopped in its tracks and woken up again.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { Informer } from '../../controller/informer.js'
import { systemClock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import { silentLog } from '../../core/log.js'
import { systemRandom } from '../../core/random.js'
import { fixedCredentials } from '../../kube/client/fixed-credentials.js'
import { makeResourceClient } from '../../kube/client/http-resource-client.js'
import type { SceneServer } from './client-scenes.js'

const MAPS = { group: '', version: 'v1', resource: 'configmaps' }
const never = new AbortController().signal
const PATIENCE_MS = 30_000

const until = async (what: string, isTrue: () => boolean): Promise<void> => {
  const endsAt = systemClock.now() + PATIENCE_MS
  while (!isTrue()) {
    if (systemClock.now() > endsAt) throw new Error(`waited in vain: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

const bundled = (dir: string): string => {
  const outfile = join(dir, 'candidate.mjs')
  buildSync({
    ...{ entryPoints: ['testkit/kube/candidate.ts'], outfile, bundle: true, logLevel: 'warning' },
    ...{ platform: 'node', target: 'node20.19', format: 'esm' },
    // Packages that look for Node.js's own modules by require.
    banner: {
      js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);",
    },
  })
  return outfile
}

/** Who wrote, one after the other: `a`, `b`, `a`. Each letter is a time in which nobody else wrote. */
const play = async (
  server: Pick<SceneServer, 'url' | 'token' | 'ca' | 'id'>,
  dir: string,
  children: ChildProcess[],
): Promise<readonly string[]> => {
  const { url, token, ca, id } = server
  const address = { server: url, token, ...(ca === undefined ? {} : { ca }) }
  const seams = { clock: systemClock, random: systemRandom, log: silentLog }
  const credentials = fixedCredentials(address)
  const client = makeResourceClient({ credentials, ...seams }, { fieldManager: 'judge' })
  const writers: string[] = []
  let writes = 0
  const informer = new Informer<string>({
    ...{ client, log: silentLog, resource: MAPS, namespace: 'default', form: 'full' },
    fieldSelector: `metadata.name=${id}-journal`,
    project: object => (object as { data?: { by?: string } }).data?.by ?? '',
    onChange: (_key, _before, after = '') => {
      writes++
      if (after !== '' && after !== writers.at(-1)) writers.push(after)
    },
  })
  const script = bundled(dir)
  const start = (name: string): ChildProcess => {
    const env = {
      PATH: process.env['PATH'] ?? '',
      CANDIDATE: JSON.stringify({ ...address, name, id }),
    }
    const child = spawn(process.execPath, [script], { env, stdio: ['pipe', 'ignore', 'inherit'] })
    children.push(child)
    return child
  }
  const more = async (what: string, count: number): Promise<void> => {
    const from = writes
    await until(what, () => writes >= from + count)
  }
  try {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${id}-journal` } }
    const any = { ...MAPS, parse: () => undefined }
    await client.create(any, { namespace: 'default' }, { body }, never)
    informer.start()
    await informer.synced
    const a = start('a')
    await more('a writes', 20)
    const b = start('b')
    await more('a goes on', 50)
    a.stdin!.write('stop\n')
    await until('b leads', () => writers.at(-1) === 'b')
    await more('b writes', 20)
    a.kill('SIGCONT')
    await more('b goes on while a is awake', 100)
    b.kill('SIGTERM')
    await until('a leads again', () => writers.at(-1) === 'a')
    await more('a writes again', 20)
    return writers
  } finally {
    await informer.stop()
    await client.close()
  }
}

/** Play it to a server. @returns how what came of it differs from what must; nothing when it does not */
export const playTwoLeaders = async (
  server: Pick<SceneServer, 'url' | 'token' | 'ca' | 'id'>,
): Promise<readonly string[]> => {
  const dir = mkdtempSync(join(tmpdir(), 'edge-health-leaders-'))
  const children: ChildProcess[] = []
  try {
    const writers = (await play(server, dir, children)).join()
    return writers === 'a,b,a' ? [] : [`they wrote in the order ${writers}, wanted a,b,a`]
  } catch (error) {
    return [`broke off: ${reasonOf(error)}`]
  } finally {
    for (const child of children) child.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  }
}

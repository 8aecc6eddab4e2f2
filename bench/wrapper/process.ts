// SPDX-License-Identifier: Apache-2.0
// The wrapper as it is shipped: the bundle, under the flags of the DaemonSet.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Child } from '../../sandbox/child.js'
import { IMAGE_ENV } from '../../sandbox/image.js'
import { startWrapper } from '../../testkit/wrapper-process.js'
import type { Api } from './client.js'

/** V8's flags stand in the DaemonSet's command: the image's own are for the agent, which computes little. */
const wrapperFlags = (): readonly string[] => {
  const manifest = readFileSync('deploy/base/wrapper.yaml', 'utf8')
  const found = /^ *command: \[node, (.*), \/app\/edge-health\.cjs\]$/m.exec(manifest)?.[1]
  if (found === undefined) throw new Error('deploy/base/wrapper.yaml has no command')
  return found.split(', ')
}

const kubeconfig = ({ url, token = 'bench', ca }: Api): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'bench',
        cluster: {
          server: url,
          ...(ca === undefined
            ? {}
            : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
        },
      },
    ],
    users: [{ name: 'bench', user: { token } }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
    'current-context': 'bench',
  })

/** A running wrapper. */
export class Wrapper {
  readonly api: Api
  readonly #child: Child
  readonly #dir: string

  private constructor(api: Api, child: Child, dir: string) {
    this.api = api
    this.#child = child
    this.#dir = dir
  }

  static async start(
    upstream: Api,
    { node, localInfo, port = 51_106 }: { node: string; localInfo: string; port?: number },
  ): Promise<Wrapper> {
    const dir = mkdtempSync(join(tmpdir(), 'edge-health-bench-'))
    const file = join(dir, 'kubeconfig')
    writeFileSync(file, kubeconfig(upstream), { mode: 0o600 })
    try {
      const child = await startWrapper({
        ...{ node, localInfo, port, statusPort: port + 1, kubeconfig: file },
        script: resolve('dist/edge-health.cjs'),
        stateDir: join(dir, 'state'),
        nodeFlags: wrapperFlags(),
        env: { ...IMAGE_ENV, NODE_ENV: 'production' },
        signal: new AbortController().signal,
      })
      return new Wrapper({ url: `http://127.0.0.1:${port}` }, child, dir)
    } catch (error) {
      rmSync(dir, { recursive: true, force: true })
      throw error
    }
  }

  /** CPU of all its threads so far, in ms: nanoseconds of the scheduler, not ticks. */
  get cpuMs(): number {
    const folder = `/proc/${this.#child.pid}/task`
    return readdirSync(folder).reduce((sum, id) => {
      const [ns = '0'] = readFileSync(join(folder, id, 'schedstat'), 'utf8').split(' ')
      return sum + Number(ns) / 1e6
    }, 0)
  }

  /** Resident MiB, now and at most. */
  get memory(): { readonly rss: number; readonly peak: number } {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')
    const mib = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1_024
    return { rss: mib('VmRSS'), peak: mib('VmHWM') }
  }

  async stop(): Promise<void> {
    await this.#child.kill()
    rmSync(this.#dir, { recursive: true, force: true })
  }
}

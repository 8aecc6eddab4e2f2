// SPDX-License-Identifier: Apache-2.0
import { get } from 'node:http'
import { systemClock, sleep } from '../core/clock.js'
import { Child } from '../sandbox/child.js'

export interface WrapperOptions {
  /** The bundle. */
  readonly script: string
  readonly node: string
  readonly kubeconfig: string
  readonly stateDir: string
  readonly port: number
  /** Where it tells about itself. */
  readonly statusPort: number
  /** Where `/localinfo` is. */
  readonly localInfo: string
  /** Folder with `serving.pem`, its own authority, and `serving.key`; without it plain HTTP. */
  readonly tlsDir?: string | undefined
  readonly signal: AbortSignal
  /** For V8. */
  readonly nodeFlags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

const READY_MS = 20_000

const tlsArgs = (dir: string | undefined): readonly string[] =>
  dir === undefined
    ? []
    : [
        '--insecure=false',
        `--ca-file=${dir}/serving.pem`,
        `--cert-file=${dir}/serving.pem`,
        `--key-file=${dir}/serving.key`,
      ]

export const wrapperArgs = (
  options: Pick<
    WrapperOptions,
    'node' | 'kubeconfig' | 'port' | 'statusPort' | 'stateDir' | 'localInfo' | 'tlsDir'
  >,
): readonly string[] => [
  'wrapper',
  `--node-name=${options.node}`,
  `--kubeconfig=${options.kubeconfig}`,
  `--bind-address=127.0.0.1:${options.port}`,
  `--status-address=127.0.0.1:${options.statusPort}`,
  `--state-dir=${options.stateDir}`,
  `--service-autonomy-enhancement=enabled=true,interval=10,address=${options.localInfo}`,
  ...tlsArgs(options.tlsDir),
]

const answers = (url: string): Promise<boolean> =>
  new Promise(resolve => {
    const request = get(url, { agent: false }, answer => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
    request.on('error', () => resolve(false))
  })

/** A wrapper that answers. @throws Error with its last lines when it does not come up. */
export const startWrapper = async (options: WrapperOptions): Promise<Child> => {
  const { script, statusPort, signal, nodeFlags = [] } = options
  const child = new Child({
    title: 'wrapper',
    command: process.execPath,
    args: [...nodeFlags, script, ...wrapperArgs(options)],
    env: { PATH: process.env['PATH'] ?? '', NODE_NAME: options.node, ...options.env },
  })
  const end = performance.now() + READY_MS
  while (!(await answers(`http://127.0.0.1:${statusPort}/readyz`))) {
    if (child.end !== undefined || performance.now() > end || signal.aborted) {
      await child.kill()
      throw new Error(`the wrapper is not ready:\n${child.lastLines(15).join('\n')}`)
    }
    await sleep(systemClock, 50, signal)
  }
  return child
}

// SPDX-License-Identifier: Apache-2.0
// The bridge as it ships, as a process beside a real apiserver, with the account and the policies of deploy/.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BridgeStatusView } from '../../bridge/run/status-view.js'
import { systemClock } from '../../core/clock.js'
import { Child } from '../../sandbox/child.js'
import type { ControlPlane } from '../control-plane/control-plane.js'
import { kubeconfig } from '../control-plane/kubeconfig.js'
import type { Pair } from './certificates.js'

const FOLDER = 'deploy/components/bridge'
const ACCOUNT = 'edge-health-bridge'
const HOST = '127.0.0.1'
const START_MS = 60_000
const LOOK_MS = 50

/** Make its namespaces, and its account with what confines it. @returns the path of its kubeconfig */
export const installBridge = async (plane: ControlPlane): Promise<string> => {
  for (const name of ['edge-system', 'kubeedge']) await plane.kubectl(['create', 'namespace', name])
  for (const file of ['rbac.yaml', 'policies.yaml'])
    await plane.kubectl(['apply', '-f', `${FOLDER}/${file}`])
  const token = await plane.kubectl(['-n', 'edge-system', 'create', 'token', ACCOUNT])
  const file = join(plane.dir, 'bridge.kubeconfig')
  writeFileSync(file, kubeconfig(plane.url, plane.ca, { token: token.trim() }), { mode: 0o600 })
  return file
}

const pemOf = (der: Buffer): string =>
  createPrivateKey({ key: der, format: 'der', type: 'sec1' })
    .export({ format: 'pem', type: 'pkcs8' })
    .toString()

/** The authority in the Secret `casecret`, which signs the certificates of edges. */
export const authorityIn = (secret: unknown): Pair => {
  const { data } = secret as { readonly data: Readonly<Record<'cadata' | 'cakeydata', string>> }
  const cert = new X509Certificate(Buffer.from(data.cadata, 'base64')).toString()
  return { cert, key: pemOf(Buffer.from(data.cakeydata, 'base64')) }
}

/** The authority that a bridge made. */
export const readAuthority = async (plane: ControlPlane): Promise<Pair> => {
  const raw = await plane.kubectl(['-n', 'kubeedge', 'get', 'secret', 'casecret', '-o', 'json'])
  return authorityIn(JSON.parse(raw))
}

export interface BridgeProcessOptions {
  readonly kubeconfig: string
  /** Made where it is missing. */
  readonly stateDir: string
  /** How it calls itself, where there are two. @default 'bridge' */
  readonly identity?: string
  /** Added to each of its ports. @default 0 */
  readonly portOffset?: number
  readonly vouch: 'zone' | 'grace' | 'off'
}

export interface BridgeProcess {
  readonly pid: number
  /** Where edges connect. */
  readonly url: string
  /** Undefined while it does not answer. */
  status(): Promise<BridgeStatusView | undefined>
  /** Resolves when edges are let in. */
  serving(): Promise<void>
  /** Without a warning, as a power cut. */
  kill(): Promise<void>
  stop(): Promise<void>
}

/** Start it. The flags of Node.js are those of the Deployment; the bundle must have been built. */
export const startBridgeProcess = (options: BridgeProcessOptions): BridgeProcess => {
  const { identity = 'bridge', portOffset = 0, stateDir } = options
  const [hub, enrol, status] = [10_000, 10_002, 51_011].map(port => `${HOST}:${port + portOffset}`)
  mkdirSync(stateDir, { recursive: true })
  const child = new Child({
    title: identity,
    command: process.execPath,
    args: [
      // As deploy/components/bridge/bridge.yaml starts it.
      ...['--max-semi-space-size=2', '--heap-growing-percent=40', '--v8-pool-size=1'],
      ...['dist/edge-health.cjs', 'bridge'],
      ...[`--kubeconfig=${options.kubeconfig}`, `--state-dir=${stateDir}`],
      ...[`--identity=${identity}`, `--vouch=${options.vouch}`, `--listen-address=${hub}`],
      ...[`--enrol-address=${enrol}`, `--status-address=${status}`],
    ],
    env: { PATH: '/usr/bin:/bin' },
  })
  const ask = (): Promise<BridgeStatusView | undefined> =>
    fetch(`http://${status}/status`).then(
      async answer => (await answer.json()) as BridgeStatusView,
      () => undefined,
    )
  return {
    pid: child.pid ?? 0,
    url: `wss://${hub}`,
    status: ask,
    serving: async () => {
      const until = performance.now() + START_MS
      while ((await ask())?.isServing !== true) {
        if (child.end !== undefined || performance.now() > until)
          throw new Error(`${identity} does not serve:\n${child.lastLines(10).join('\n')}`)
        await new Promise(resolve => setTimeout(resolve, LOOK_MS))
      }
    },
    kill: () => child.kill(),
    stop: () => child.stop(systemClock),
  }
}

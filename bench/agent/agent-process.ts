// SPDX-License-Identifier: Apache-2.0
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IMAGE_ENV } from '../../sandbox/image.js'
import { LOCAL_PORT, PEER_PORT } from './world/cast.js'
import type { Stage } from './world/world.js'
import { pinnedCommand } from './world-process.js'

/** The bench is one bundled file in .cache. */
const root = join(import.meta.dirname, '..')

/** How to run the agent. */
export interface AgentOrder {
  /** The node binary. */
  readonly node: string
  /** For Node.js; they may need the agent's folder. */
  readonly flags: (folder: string) => readonly string[]
  readonly script: string
  readonly core: number | undefined
  readonly profile: string
  readonly name: string
  readonly address: string
  /** Options of the agent beside those. */
  readonly more: readonly string[]
  /** A file for what it says. */
  readonly log: string | undefined
}

/** The service account of the agent's Pod. */
export interface PodAccount {
  /** The apiserver's address and port. */
  readonly host: string
  readonly port: number
  readonly token: string
  /** PEM. */
  readonly ca: string
}

/** A stage with the way to its apiserver. */
export interface ReadyStage extends Stage {
  /** A service account, mounted as in a Pod, which needs a mount namespace of our own; or the text of a kubeconfig. */
  readonly access: PodAccount | string
}

/** Where Kubernetes mounts it, below a folder that nobody else may see. */
const ACCOUNT = '/run/secrets/kubernetes.io/serviceaccount'

const mountAccount = ({ token, ca }: PodAccount): void => {
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', '/run'], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the service account cannot be mounted: ${stderr}`)
  mkdirSync(ACCOUNT, { recursive: true })
  writeFileSync(join(ACCOUNT, 'token'), token, { mode: 0o600 })
  writeFileSync(join(ACCOUNT, 'ca.crt'), ca)
}

/** What Kubernetes tells a Pod of the apiserver. */
const serviceVariables = ({ host, port }: Pick<PodAccount, 'host' | 'port'>) => ({
  KUBERNETES_SERVICE_HOST: host,
  KUBERNETES_SERVICE_PORT: String(port),
})

export const bundle = join(root, 'dist', 'edge-health.cjs')

/** The shipped file from the sources as they are now. @throws Error with what the build said. */
export const buildBundle = (): void => {
  const { status, stderr } = spawnSync(process.execPath, ['build.mjs', '--quiet'], {
    ...{ cwd: root, encoding: 'utf8' },
  })
  if (status !== 0) throw new Error(`the bundle does not build: ${stderr}`)
}

const wait = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** As in the image; the agent sees nothing else of the environment. */
const environment = (cache: string | undefined): NodeJS.ProcessEnv => ({
  NODE_ENV: 'production',
  ...IMAGE_ENV,
  ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: cache }),
})

/** Text of a page of the agent, or undefined when it does not answer well. */
export const read = (url: string): Promise<string | undefined> =>
  new Promise(resolve => {
    const asked = get(url, { agent: false, timeout: 2_000 }, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      answer.on('end', () => resolve(answer.statusCode === 200 ? text : undefined))
      answer.on('error', () => resolve(undefined))
    })
    asked.on('timeout', () => asked.destroy())
    asked.on('error', () => resolve(undefined))
  })

/** One agent of the bundle, run as in the image, with a folder of its own. */
export class AgentProcess {
  readonly folder = mkdtempSync(join(tmpdir(), 'edge-health-bench-'))
  readonly #order: AgentOrder
  #child: ChildProcess | undefined
  #startedAt = 0
  #said = ''

  constructor(order: AgentOrder) {
    this.#order = order
  }

  get pid(): number {
    return this.#child!.pid!
  }

  get url(): string {
    return `http://${this.#order.address}:${LOCAL_PORT}`
  }

  /** The last of what it said. */
  get said(): string {
    return this.#said
  }

  /** As the image does when it is built: a few seconds without a cluster, so that the compiled code is kept. */
  async warmCache(): Promise<void> {
    if (Number(/\d+/.exec(await this.#version())?.[0]) < 22) return
    const nobody = serviceVariables({ host: '127.0.0.1', port: 9 })
    this.#spawn(['--master-url=http://127.0.0.1:9', ...this.#arguments(undefined)], nobody)
    await wait(8_000)
    await this.#end('SIGTERM')
    rmSync(join(this.folder, 'state'), { recursive: true, force: true })
  }

  /** @param inside a wrapper command, to run it in a cgroup. */
  start(stage: ReadyStage, inside: readonly string[] = []): void {
    mkdirSync(join(this.folder, 'state'), { recursive: true, mode: 0o700 })
    const { access } = stage
    if (typeof access === 'string')
      writeFileSync(join(this.folder, 'kubeconfig'), access, { mode: 0o600 })
    else mountAccount(access)
    if (stage.identities !== undefined)
      writeFileSync(join(this.folder, 'state', 'identities.json'), stage.identities, {
        mode: 0o600,
      })
    const variables = typeof access === 'string' ? {} : serviceVariables(access)
    this.#spawn(this.#arguments(stage), variables, inside)
  }

  /** @returns ms from the start until /readyz said so; undefined when it did not in time. */
  async ready(limitMs: number): Promise<number | undefined> {
    while (performance.now() - this.#startedAt < limitMs && this.#child?.exitCode === null) {
      if ((await read(`${this.url}/readyz`)) !== undefined)
        return performance.now() - this.#startedAt
      await wait(100)
    }
    return undefined
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM')
    rmSync(this.folder, { recursive: true, force: true })
  }

  #arguments(stage: ReadyStage | undefined): readonly string[] {
    const { name, address, profile, more } = this.#order
    return [
      ...[`--node-name=${name}`, `--node-address=${address}`, `--port=${PEER_PORT}`],
      ...[`--local-address=${address}`, `--local-port=${LOCAL_PORT}`, `--profile=${profile}`],
      `--state-dir=${join(this.folder, 'state')}`,
      ...(stage === undefined
        ? []
        : [
            ...(typeof stage.access === 'string'
              ? [`--kubeconfig=${join(this.folder, 'kubeconfig')}`]
              : []),
            `--self-report-url=${stage.selfReportUrl}`,
          ]),
      ...more,
    ]
  }

  #spawn(
    args: readonly string[],
    variables: NodeJS.ProcessEnv,
    inside: readonly string[] = [],
  ): void {
    const { node, flags, script, core } = this.#order
    const line = [
      ...inside,
      ...pinnedCommand(core, [node, ...flags(this.folder), script, 'agent', ...args]),
    ]
    const env = { ...environment(join(this.folder, 'cache')), ...variables }
    this.#startedAt = performance.now()
    this.#child = spawn(line[0]!, line.slice(1), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...env },
    })
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#said = (this.#said + text).slice(-8_000)
        if (this.#order.log !== undefined) appendFileSync(this.#order.log, text)
      })
  }

  #version(): Promise<string> {
    return new Promise((resolve, reject) => {
      let text = ''
      const child = spawn(this.#order.node, ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] })
      child.stdout.on('data', (part: Buffer) => (text += part.toString()))
      child.once('error', reject)
      child.once('close', () => resolve(text.trim()))
    })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child?.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise(resolve => child.once('exit', resolve))
    child.kill(signal)
    const late = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await gone
    clearTimeout(late)
  }
}

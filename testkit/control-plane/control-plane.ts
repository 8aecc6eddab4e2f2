// SPDX-License-Identifier: Apache-2.0
// A real control plane: etcd, kube-apiserver with RBAC and an audit log, kube-controller-manager.
import { randomBytes } from 'node:crypto'
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import { makeApiClient, type ApiClient } from '../../sandbox/api-client.js'
import { Child, type Ended } from '../../sandbox/child.js'
import type { Binaries } from './programs.js'
import { signingKey, type ServingPair } from './certificates.js'
import {
  AGENT_ACCOUNT,
  API_PORT,
  CONTROLLERS,
  ETCD,
  MANAGER_PORT,
  WRAPPER_ACCOUNT,
  auditLogOf,
  auditPolicy,
  etcdFlags,
  lifecycleFlags,
  serverFlags,
} from './flags.js'
import { kubeconfig } from './kubeconfig.js'

/** Somebody whom the apiserver knows by a token of its own file. */
export interface StaticUser {
  readonly token: string
  readonly name: string
  readonly groups: readonly string[]
}

export interface ControlPlaneOptions {
  readonly binaries: Binaries
  /** Where its files are kept; the caller removes it. */
  readonly dir: string
  /** What the apiserver shows; it listens on every address. */
  readonly serving: ServingPair
  readonly users: readonly StaticUser[]
  /** The node-lifecycle controller's patience with a silent node; undefined starts no controller manager yet. */
  readonly graceMs: number | undefined
  /** Admission plugins beside those that are on by default. */
  readonly admission?: readonly string[]
  /** Further flags of the apiserver. @default none */
  readonly serverFlags?: readonly string[]
  /** Further flags of the controller manager, where it is started with the rest. @default none */
  readonly controllerFlags?: readonly string[]
  /** What the audit log holds, as an audit.k8s.io/v1 Policy. @default writes and reads by the accounts of agents and wrappers */
  readonly auditPolicy?: string
  /** How long the apiserver may take to be ready, in milliseconds. @default 60_000 */
  readonly readyMs?: number
  /** One of the three programs ended by itself. */
  readonly onCrash: (ended: Ended, lastLines: readonly string[]) => void
}

const READY_MS = 60_000

interface EtcdAnswer {
  readonly header: { readonly revision: string }
}

/** Base64 of one zero byte. */
const FIRST_KEY = 'AA=='

const askEtcd = async (verb: string, body: object, signal: AbortSignal): Promise<unknown> => {
  const response = await fetch(`${ETCD}/v3/kv/${verb}`, {
    ...{ method: 'POST', signal },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`etcd ${verb}: ${response.status} ${await response.text()}`)
  return response.json()
}

/** A running control plane. */
export class ControlPlane {
  readonly url = `https://127.0.0.1:${API_PORT}`
  readonly dir: string
  readonly ca: string
  readonly admin: ApiClient
  readonly adminToken: string
  readonly auditLog: string
  readonly #options: ControlPlaneOptions
  readonly #children: Child[] = []
  #stopping: Promise<void> | undefined

  constructor(
    parts: { dir: string; ca: string; adminToken: string },
    options: ControlPlaneOptions,
  ) {
    this.#options = options
    this.dir = parts.dir
    this.ca = parts.ca
    this.adminToken = parts.adminToken
    this.auditLog = auditLogOf(parts.dir)
    this.admin = makeApiClient(
      { server: this.url, token: parts.adminToken, ca: parts.ca },
      systemClock,
    )
  }

  /** Start the programs one after the other, each when the one before answers. */
  async start(signal: AbortSignal): Promise<void> {
    this.#run('etcd', etcdFlags(this.dir))
    this.#run('kube-apiserver', serverFlags(this.dir, this.#options))
    await this.#answers('/readyz', signal)
    const { graceMs, controllerFlags = [] } = this.#options
    if (graceMs === undefined) return
    this.runControllers(CONTROLLERS, [...lifecycleFlags(graceMs), ...controllerFlags])
  }

  /** Start the controller manager, with these controllers alone. Once. */
  runControllers(controllers: readonly string[], flags: readonly string[] = []): void {
    this.#run('kube-controller-manager', [
      `--kubeconfig=${join(this.dir, 'kubeconfig')}`,
      `--controllers=${controllers.join()}`,
      '--leader-elect=false',
      '--use-service-account-credentials=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${MANAGER_PORT}`,
      `--cert-dir=${this.dir}`,
      ...flags,
    ])
  }

  /** Compact the store and restart the apiserver: versions before the present one are gone. */
  async forget(signal: AbortSignal): Promise<void> {
    const { header } = (await askEtcd('range', { key: FIRST_KEY }, signal)) as EtcdAnswer
    await askEtcd('compaction', { revision: header.revision, physical: true }, signal)
    await this.restartServer(signal)
  }

  /** Kill the apiserver and start another one on the same store. */
  async restartServer(signal: AbortSignal): Promise<void> {
    await this.killServer()
    await this.startServer(signal)
  }

  /** The apiserver is gone, as after a power cut. */
  async killServer(): Promise<void> {
    const server = this.#children.findIndex(child => child.title === 'kube-apiserver')
    const [old] = this.#children.splice(server, 1)
    await old?.kill()
  }

  /** Start it again, once after `killServer`. */
  async startServer(signal: AbortSignal): Promise<void> {
    this.#run('kube-apiserver', serverFlags(this.dir, this.#options))
    await this.#answers('/readyz', signal)
  }

  /** The process that is the apiserver now. */
  get serverPid(): number {
    return this.#child('kube-apiserver').pid!
  }

  /** What the apiserver shows, its own authority. */
  get serving(): ServingPair {
    return this.#options.serving
  }

  get binaries(): Binaries {
    return this.#options.binaries
  }

  /** The administrator's kubeconfig for a listener in front of this API that wants to see a certificate, too. */
  kubeconfigFor(server: string): string {
    return kubeconfig(server, this.ca, { token: this.adminToken, certificate: this.serving })
  }

  /** Run kubectl as the administrator. Rejects with what it said. */
  kubectl(args: readonly string[], input?: string): Promise<string> {
    const all = [
      `--kubeconfig=${join(this.dir, 'kubeconfig')}`,
      `--cache-dir=${join(this.dir, 'kubectl')}`,
      ...args,
    ]
    return new Promise((resolve, reject) => {
      const child = execFile(
        this.#options.binaries.kubectl,
        all,
        { env: { HOME: this.dir, PATH: '/usr/bin:/bin' }, maxBuffer: 64 * 2 ** 20 },
        (error, output, errors) => {
          if (error === null) resolve(output)
          else reject(new Error(`kubectl ${args.join(' ')}: ${errors.trim()}`, { cause: error }))
        },
      )
      child.stdin?.end(input)
    })
  }

  /** The last lines of each program. */
  lastLines(count: number): readonly string[] {
    return this.#children.flatMap(child =>
      child.lastLines(count).map(line => `${child.title}: ${line}`),
    )
  }

  /** Ends the programs. May be called twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  /** The apiserver hangs: its connections stay open, and nobody answers. */
  freezeServer(): void {
    this.#child('kube-apiserver').freeze()
  }

  thawServer(): void {
    this.#child('kube-apiserver').thaw()
  }

  #child(name: keyof Binaries): Child {
    return this.#children.find(child => child.title === name)!
  }

  async #stop(): Promise<void> {
    await this.admin.close()
    // The apiserver takes a minute to end open watches, and nothing that these programs hold is needed.
    await Promise.all(this.#children.map(child => child.kill()))
  }

  #run(name: keyof Binaries, args: readonly string[]): void {
    const child = new Child({
      title: name,
      command: this.#options.binaries[name],
      args,
      env: { HOME: this.dir, PATH: '/usr/bin:/bin' },
    })
    this.#children.push(child)
    void child.ended.then(ended => {
      if (ended.isCrash) this.#options.onCrash(ended, child.lastLines(10))
    })
  }

  async #answers(path: string, signal: AbortSignal): Promise<void> {
    const until = performance.now() + (this.#options.readyMs ?? READY_MS)
    for (;;) {
      const dead = this.#children.find(child => child.end !== undefined)
      if (dead !== undefined)
        throw new Error(`${dead.title} does not start:\n${dead.lastLines(15).join('\n')}`)
      try {
        await this.kubectl(['get', '--raw', path])
        return
      } catch (error) {
        signal.throwIfAborted()
        if (performance.now() > until)
          throw new Error(`the apiserver is not ready: ${reasonOf(error)}`, { cause: error })
      }
      await new Promise(resolve => setTimeout(resolve, 200))
    }
  }
}

/** Write what the programs read. `start` brings them up; `stop` must be called in any case. */
export const makeControlPlane = async (options: ControlPlaneOptions): Promise<ControlPlane> => {
  const { dir } = options
  const { key, cert } = options.serving
  await mkdir(join(dir, 'etcd'), { recursive: true, mode: 0o700 })
  const adminToken = randomBytes(16).toString('hex')
  const users = [
    { token: adminToken, name: 'admin', groups: ['system:masters'] },
    ...options.users,
  ].map(
    user => `${user.token},${user.name},${user.name},"${user.groups.join()}"
`,
  )
  const plane = new ControlPlane({ dir, ca: cert, adminToken }, options)
  const files = {
    'serving.pem': cert,
    'serving.key': key,
    'sa.key': signingKey(),
    'tokens.csv': users.join(''),
    'audit-policy.yaml': options.auditPolicy ?? auditPolicy([AGENT_ACCOUNT, WRAPPER_ACCOUNT]),
    kubeconfig: kubeconfig(plane.url, cert, { token: adminToken }),
  }
  for (const [name, text] of Object.entries(files))
    await writeFile(join(dir, name), text, { mode: 0o600 })
  return plane
}

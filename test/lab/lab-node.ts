// SPDX-License-Identifier: Apache-2.0
import { join } from 'node:path'
import { cpuMs } from '../../bench/agent/proc.js'
import { systemClock } from '../../core/clock.js'
import type { Child, Ended } from '../../sandbox/child.js'
import { NodeProcesses, startChild } from '../../sandbox/node-processes.js'
import { API_PORT } from '../../testkit/control-plane/flags.js'
import type { Namespace } from './network.js'
import type { Profile } from './options.js'
import type { OtherVersion } from './other-version.js'
import { CLOUD_HUB, KUBELETS_HUB, peerAddress, watchAddress } from './places.js'
import { CpuGroup } from './slow-cpu.js'

export type Vouch = 'lease' | 'taint' | 'off'

const LOCAL_PORT = 51005
/** Where an agent keeps what it remembers, its own keys too. */
export const STATE = '/var/lib/edge-health'
/** As large as what an agent keeps, many times over, and soon filled. */
const STATE_SIZE = '256k'
const OWN_CLOCK = `--require=${join(process.cwd(), 'test/lab/wall-clock.cjs')}`
const WALL_OFFSET = '/run/wall-offset'
const SERVICE_ACCOUNT = '/run/secrets/kubernetes.io/serviceaccount'

/** What all nodes have in common. */
export interface NodeSettings {
  /** The bundle. */
  readonly script: string
  /** Another version, which the agents of every second node run. */
  readonly other: OtherVersion | undefined
  /** The arguments of the DaemonSet's container. */
  readonly args: readonly string[]
  readonly profile: Profile
  /** Names this run of the lab, on a machine where several may run. */
  readonly run: string
  /** PEM text of the cluster's authority. */
  readonly ca: string
  readonly onCrash: (ended: Ended, lastLines: readonly string[]) => void
}

/** Who a node is. */
export interface LabIdentity {
  readonly name: string
  readonly index: number
  readonly space: Namespace
}

/** One node: a namespace with a kubelet and an agent. */
export class LabNode extends NodeProcesses {
  readonly name: string
  readonly index: number
  readonly space: Namespace
  vouch: Vouch = 'lease'
  /** Of its agent, from its next start on, beside those of the DaemonSet. */
  moreArgs: readonly string[] = []
  /** Its agent has a wall clock of its own, from its next start on. */
  hasOwnClock = false
  /** Its agent is of the other version, from its next start on. */
  isOther: boolean
  readonly #settings: NodeSettings
  readonly #cpu: CpuGroup
  #isSick = false

  constructor({ name, index, space }: LabIdentity, settings: NodeSettings) {
    super()
    this.name = name
    this.index = index
    this.space = space
    this.#settings = settings
    this.isOther = this.isOtherAtFirst
    this.#cpu = new CpuGroup(`edge-health-lab-${settings.run}-${name}`)
  }

  /** Every second one is, where there are two versions. */
  get isOtherAtFirst(): boolean {
    return this.#settings.other !== undefined && this.index % 2 === 1
  }

  /** Its agent knows identities, whether the zone has them or not. */
  get signs(): boolean {
    return !this.isOther || this.#settings.other!.signs
  }

  get address(): string {
    return peerAddress(this.index)
  }

  /** Where the observer asks its agent. */
  get localUrl(): string {
    return `http://${watchAddress(this.index)}:${LOCAL_PORT}`
  }

  /** The folder of the host that the agent's Pod has. */
  async mountState(): Promise<void> {
    await this.space.run('mkdir', ['-p', STATE])
    const options = `size=${STATE_SIZE},mode=0700`
    await this.space.run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', STATE])
  }

  /** What a kubelet mounts into the agent's Pod. */
  async mountAccount(token: string): Promise<void> {
    const files = { token, 'ca.crt': this.#settings.ca, namespace: 'edge-system' }
    await this.space.run('mkdir', ['-p', SERVICE_ACCOUNT])
    for (const [file, text] of Object.entries(files))
      await this.space.run('sh', ['-c', `umask 077; cat >${SERVICE_ACCOUNT}/${file}`], text)
  }

  /** Write the small kubelet's options. */
  async prepareKubelet(token: string): Promise<void> {
    const renewMs = this.#settings.profile === 'fast' ? 2_000 : 10_000
    const options = {
      nodeName: this.name,
      address: this.address,
      labels: { 'kubernetes.io/os': 'linux' },
      server: `https://${KUBELETS_HUB}:${API_PORT}`,
      token,
      ca: this.#settings.ca,
      healthz: { host: '127.0.0.1', port: 10248 },
      secure: { host: this.address, port: 10250 },
      leaseSeconds: (renewMs * 4) / 1_000,
      renewMs,
      statusMs: 300_000,
    }
    const text = JSON.stringify(options)
    await this.space.run('sh', ['-c', 'umask 077; cat >/run/kubelet.json'], text)
  }

  startKubelet(): void {
    this.#isSick = false
    const args = ['sandbox-kubelet', '--config=/run/kubelet.json']
    this.kubelet = this.#start('kubelet', this.#own(args), {})
  }

  get #agentEnv(): Readonly<Record<string, string>> {
    return {
      NODE_NAME: this.name,
      NODE_IP: this.address,
      KUBERNETES_SERVICE_HOST: CLOUD_HUB,
      KUBERNETES_SERVICE_PORT: String(API_PORT),
    }
  }

  /** What a command of the program says in the agent's Pod; it may fail. */
  async cli(args: readonly string[]): Promise<string> {
    const env = Object.entries(this.#agentEnv).map(([name, value]) => `${name}=${value}`)
    const line = [...env, ...this.#own([...args, `--agent=${this.localUrl}`])]
    return this.space.run('sh', ['-c', '"$@" 2>&1; true', 'sh', 'env', ...line])
  }

  /** As the DaemonSet says; only the local listener moves to where the observer can ask. */
  startAgent(): void {
    const own = [
      `--local-address=${watchAddress(this.index)}`,
      `--profile=${this.#settings.profile}`,
      `--vouch=${this.vouch}`,
      ...this.moreArgs,
    ]
    const { script, args } = this.isOther ? this.#settings.other! : this.#settings
    this.agent = this.#start('agent', [process.execPath, script, ...args, ...own], {
      ...this.#agentEnv,
      ...(this.hasOwnClock ? { NODE_OPTIONS: OWN_CLOCK, LAB_WALL_OFFSET: WALL_OFFSET } : {}),
    })
    this.state = 'running'
  }

  /** Somebody else's agent in place of ours. */
  startOther(command: readonly string[], env: Readonly<Record<string, string>>): void {
    this.agent = this.#start('other agent', command, env)
    this.state = 'running'
  }

  /** The agent's wall clock steps to so far from the machine's. It must have a clock of its own. */
  async stepWall(offsetMs: number): Promise<void> {
    await this.space.run('sh', ['-c', `cat >${WALL_OFFSET}`], String(offsetMs))
    process.kill(this.agent!.pid!, 'SIGUSR2')
  }

  /** Not a byte more fits into the agent's folder; or it does again. */
  async fillState(isFull: boolean): Promise<void> {
    const fill = `cat /dev/zero >${STATE}/ballast 2>/dev/null || true`
    await this.space.run('sh', ['-c', isFull ? fill : `rm -f ${STATE}/ballast`])
  }

  /** All files of the agent's folder, as they are, for `putState`. */
  readState(): Promise<string> {
    return this.space.run('sh', ['-c', `tar -C ${STATE} -c . | base64 -w 0`])
  }

  /** The agent's folder has these files alone, as from an image of a disk. */
  async putState(image: string): Promise<void> {
    const put = `find ${STATE} -mindepth 1 -delete && base64 -d | tar -C ${STATE} -x`
    await this.space.run('sh', ['-c', put], image)
  }

  /** The agent's folder is as on a new disk. */
  async emptyState(): Promise<void> {
    await this.space.run('find', [STATE, '-mindepth', '1', '-delete'])
  }

  /** What its agent used since it started. */
  get agentCpuMs(): number {
    return cpuMs(this.agent!.pid!)
  }

  /** The agent shares so much of one core among its threads; undefined takes the limit away. */
  async throttle(percent: number | undefined): Promise<void> {
    if (percent === undefined) this.#cpu.release()
    else this.#cpu.limit(this.agent!.pid!, percent)
    return Promise.resolve()
  }

  /** The agent alone stands still, and is asked all the same. */
  freezeAgent(isFrozen: boolean): void {
    if (isFrozen) this.agent?.freeze()
    else this.agent?.thaw()
  }

  revive(): void {
    this.startKubelet()
    this.startAgent()
  }

  async stopAgent(): Promise<void> {
    await this.endAgent(systemClock)
  }

  async killAgent(): Promise<void> {
    await this.agent?.kill()
  }

  /** The kubelet says 500, or 200 again, where its own node asks. */
  async setSick(isSick: boolean): Promise<void> {
    if (isSick === this.#isSick) return
    this.#isSick = isSick
    const path = `http://127.0.0.1:10248/sandbox/${isSick ? 'sick' : 'well'}`
    const ask = `fetch('${path}',{method:'POST'}).then(a=>process.exit(a.ok?0:1))`
    await this.space.run(process.execPath, ['-e', ask])
  }

  async stop(): Promise<void> {
    await Promise.all([this.agent?.kill(), this.kubelet?.kill()])
    this.#cpu.release()
    this.space.close()
  }

  #own(args: readonly string[]): readonly string[] {
    return [process.execPath, this.#settings.script, ...args]
  }

  #start(
    what: string,
    [program = '', ...args]: readonly string[],
    more: Readonly<Record<string, string>>,
  ): Child {
    const { onCrash } = this.#settings
    const [first = '', ...rest] = this.space.inside(program, args)
    return startChild(
      {
        title: `${what} ${this.name}`,
        command: first,
        args: rest,
        env: { PATH: process.env['PATH'] ?? '', ...more },
      },
      onCrash,
    )
  }
}

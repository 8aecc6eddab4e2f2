// SPDX-License-Identifier: Apache-2.0
import { UNHEALTHY_ANNOTATION } from '../../core/marks.js'
import type { AgentStatus } from '../agent-view.js'
import type { NodeWrite } from '../node-writes.js'
import type { Zone } from '../zone.js'
import { clusterPeriods, type Profile, type Vouch, type ZoneNode } from '../zone-node.js'
import type { NodeSnapshot, ZoneSnapshot } from './snapshot.js'
import type { ZoneSites } from './sites.js'
import type { Limits, Stage } from './stage.js'

/** Far above what is promised, since a busy machine is no broken claim; the measured times are shown. */
export const limitsFor = (profile: Profile, nodes: number): Limits => {
  const { graceMs, monitorPeriodMs } = clusterPeriods(profile)
  const slow = profile === 'fast' ? 1 : 4
  return {
    startMs: 30_000 * slow + nodes * 1_500,
    seenMs: 12_000 * slow,
    writtenMs: 15_000 * slow,
    graceMs: graceMs + monitorPeriodMs,
    quietMs: profile === 'fast' ? 2_500 : 8_000,
  }
}

/** /status is long, so only this many agents are asked for it at each look, in turns. */
const STATUS_PER_LOOK = 6

const annotationOf = (object: unknown): string =>
  (object as { metadata?: { annotations?: Record<string, string> } } | undefined)?.metadata
    ?.annotations?.[UNHEALTHY_ANNOTATION] ?? ''

/** The stage on which real processes play. */
export class ZoneStage implements Stage {
  readonly limits: Limits
  readonly vouch: Vouch
  readonly sites: ZoneSites
  readonly #zone: Zone
  readonly #flips = new Map<string, number>()
  readonly #statuses = new Map<string, AgentStatus | undefined>()
  readonly #unsubscribe: () => void
  #writes: () => readonly NodeWrite[]
  #turn = 0
  #trouble: string | undefined

  constructor(zone: Zone, sites: ZoneSites, profile: Profile, vouch: Vouch) {
    this.#zone = zone
    this.sites = sites
    this.limits = limitsFor(profile, zone.nodes.length)
    this.vouch = vouch
    this.#writes = zone.recordWrites()
    this.#unsubscribe = zone.api.store.subscribe('nodes', ({ object, previous }) => {
      if (annotationOf(object) === annotationOf(previous)) return
      const { name } = object.metadata
      this.#flips.set(name, this.flips(name) + 1)
    })
  }

  get names(): readonly string[] {
    return this.#zone.nodes.map(node => node.name)
  }

  /** A process ended that nobody had ended: no claim is worth anything after that. */
  crashed(what: string): void {
    this.#trouble ??= what
  }

  async look(): Promise<ZoneSnapshot> {
    const { nodes } = this.#zone
    const live = nodes.filter(node => node.state === 'running')
    const asked = new Set<ZoneNode>()
    for (let i = 0; i < Math.min(STATUS_PER_LOOK, live.length); i++)
      asked.add(live[this.#turn++ % live.length]!)
    const [sites, ...all] = await Promise.all([
      this.sites.look(),
      ...nodes.map(node => this.#lookAt(node, asked.has(node))),
    ])
    return { nodes: all, sites }
  }

  async #lookAt(node: ZoneNode, isAsked: boolean): Promise<NodeSnapshot> {
    const isLive = node.state === 'running'
    const [localinfo, status] = await Promise.all([
      isLive ? this.#zone.localInfo(node) : undefined,
      isLive && isAsked ? this.#zone.status(node) : this.#statuses.get(node.name),
    ])
    this.#statuses.set(node.name, isLive ? status : undefined)
    return {
      name: node.name,
      state: node.state,
      isCut: node.isCut,
      object: this.#zone.object(node.name),
      localinfo,
      status,
    }
  }

  kill(name: string): Promise<void> {
    return this.#zone.node(name).kill()
  }

  restart(name: string): void {
    this.#zone.restart(this.#zone.node(name))
  }

  freeze(name: string): void {
    this.#zone.node(name).freeze()
  }

  thaw(name: string): void {
    this.#zone.node(name).thaw()
  }

  cut(name: string, how: 'refused' | 'silent'): void {
    this.#zone.cutCloud(this.#zone.node(name), how)
  }

  heal(name: string): void {
    this.#zone.healCloud(this.#zone.node(name))
  }

  restartAgents(vouch: Vouch): Promise<void> {
    return this.#zone.restartAgents(vouch)
  }

  writes(): readonly NodeWrite[] {
    return this.#writes()
  }

  flips(name: string): number {
    return this.#flips.get(name) ?? 0
  }

  mark(): void {
    this.#flips.clear()
    this.#writes = this.#zone.recordWrites()
  }

  trouble(): string | undefined {
    return this.#trouble
  }

  end(): void {
    this.#unsubscribe()
  }
}

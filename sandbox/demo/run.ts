// SPDX-License-Identifier: Apache-2.0
import { aborted, type Clock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import { makeZone, type Zone } from '../zone.js'
import type { Profile, Vouch } from '../zone-node.js'
import { describe } from './describe.js'
import { hints } from './hints.js'
import { claimPlaces } from './places.js'
import { chooseScenes } from './scenes.js'
import type { Ended } from '../child.js'
import type { Screen } from './screen.js'
import { ZoneSites } from './sites.js'
import type { ZoneSnapshot } from './snapshot.js'
import { type Audience, type ClaimResult, play, type Scene } from './stage.js'
import { drawResults, drawZone, seconds } from './table.js'
import { ZoneStage } from './zone-stage.js'

export interface DemoOptions {
  readonly nodes: number
  /** Names of scenes; none plays all. */
  readonly scenes: readonly string[]
  readonly profile: Profile
  readonly vouch: Vouch
  /** Stay up after the scenes, until the signal. */
  readonly keep: boolean
  /** The first of the nodes' loopback addresses. */
  readonly addressBase: string
  readonly apiPort: number
  readonly command: string
  readonly script: string
  readonly env: Readonly<Record<string, string>>
  readonly tempDir: string
}

interface DemoSeams {
  readonly clock: Clock
  readonly screen: Screen
  readonly signal: AbortSignal
  readonly platform: string
}

/** How the demo went, for programs. */
export interface DemoReport {
  readonly ok: boolean
  readonly interrupted: boolean
  readonly nodes: number
  readonly profile: Profile
  readonly vouch: Vouch
  readonly durationMs: number
  readonly scenes: readonly {
    readonly name: string
    readonly proves: string
    readonly outcome: 'ok' | 'failed' | 'not played'
    readonly claims: readonly Omit<ClaimResult, 'scene'>[]
  }[]
  /** Why it failed, in lines for people. */
  readonly trouble: readonly string[]
}

const LINES_SHOWN = 8
const AGENTS_SHOWN = 3

/** Why a claim failed: what was observed, and the last log lines of the agents concerned. */
const explain = (
  zone: Zone,
  stage: ZoneStage,
  failed: { scene: Scene; result: ClaimResult; snapshot: ZoneSnapshot | undefined },
): readonly string[] => {
  const targets = failed.scene.targets(stage.names)
  const others = stage.names.filter(name => !targets.includes(name))
  const asked = [...targets.slice(0, 1), ...others].slice(0, AGENTS_SHOWN)
  const crash = stage.trouble()
  const seen = targets.length === 0 ? stage.names : targets
  return [
    `scene ${failed.scene.name}: "${failed.result.claim}" does not hold after ${seconds(failed.result.ms)}`,
    ...(crash === undefined ? [] : [crash]),
    ...(failed.snapshot === undefined ? [] : describe(failed.snapshot, seen)),
    ...stage.writes().map(write => `written by ${write.by}: ${write.path}`),
    ...asked.flatMap(name => [
      `last lines of the agent on ${name}:`,
      ...zone
        .node(name)
        .agentLines(LINES_SHOWN)
        .map(line => `  ${line}`),
    ]),
    ...stage.sites.lastLines(LINES_SHOWN),
  ]
}

/** Plays the scenes and reports on them. */
class Demo {
  readonly #options: DemoOptions
  readonly #seams: DemoSeams
  readonly #zone: Zone
  readonly #stage: ZoneStage
  readonly #results: ClaimResult[] = []
  #snapshot: ZoneSnapshot | undefined
  #trouble: readonly string[] = []

  constructor(options: DemoOptions, seams: DemoSeams, zone: Zone, stage: ZoneStage) {
    this.#options = options
    this.#seams = seams
    this.#zone = zone
    this.#stage = stage
  }

  get results(): readonly ClaimResult[] {
    return this.#results
  }

  get trouble(): readonly string[] {
    return this.#trouble
  }

  async play(scenes: readonly Scene[]): Promise<void> {
    const { clock, signal } = this.#seams
    const lookPeriodMs = Math.max(100, this.#options.nodes * 10)
    for (const scene of scenes) {
      const results = await play(scene, this.#stage, {
        clock,
        signal,
        lookPeriodMs,
        audience: this.#audience(),
      })
      const failed = results.find(result => !result.ok)
      if (failed === undefined) continue
      this.#trouble = explain(this.#zone, this.#stage, {
        scene,
        result: failed,
        snapshot: this.#snapshot,
      })
      return
    }
  }

  /** Keep showing the zone as the last scene left it: who is dead stays dead, so that it can be looked at. */
  async stay(): Promise<void> {
    const { clock, screen, signal } = this.#seams
    for (const line of await hints(this.#zone, this.#options.script)) screen.text(line)
    const ended = aborted(signal)
    // Asking all agents each second would be more work for them than their own.
    if (!screen.hasPicture) await ended
    while (!signal.aborted) {
      const snapshot = await this.#stage.look()
      screen.picture((room, paint) => drawZone(snapshot, room, paint))
      await Promise.race([ended, new Promise<void>(resolve => clock.after(1_000, resolve))])
    }
  }

  #audience(): Audience {
    const { screen } = this.#seams
    const { paint } = screen
    return {
      scene: scene => screen.line(paint('bold', `${scene.name}: ${scene.proves}`)),
      act: what => screen.line(`  > ${what}`),
      claim: result => {
        this.#results.push(result)
        const time = `${result.kind === 'stays' ? 'for ' : ''}${seconds(result.ms)}`
        const mark = result.ok ? paint('green', 'ok') : paint('red', 'FAILED')
        screen.line(`  ${mark} ${result.claim} (${time})`)
      },
      see: snapshot => {
        this.#snapshot = snapshot
        screen.picture((room, paint) => drawZone(snapshot, room, paint))
      },
    }
  }
}

const sceneReports = (
  scenes: readonly Scene[],
  results: readonly ClaimResult[],
): DemoReport['scenes'] =>
  scenes.map(({ name, proves }) => {
    const own = results.filter(result => result.scene === name)
    const isFailed = own.some(result => !result.ok)
    const outcome = own.length === 0 ? 'not played' : isFailed ? 'failed' : 'ok'
    return { name, proves, outcome, claims: own.map(({ scene: _scene, ...claim }) => claim) }
  })

/**
 * Start a zone, play the scenes and report. No process and no file is left in any case.
 * @throws PlaceError when the addresses are missing, InvalidInputError for a bad address base
 */
export const runDemo = async (options: DemoOptions, seams: DemoSeams): Promise<DemoReport> => {
  const { clock, screen, signal } = seams
  const startedAt = clock.now()
  const scenes = chooseScenes(options.scenes, options.vouch)
  const addresses = await claimPlaces(options, seams.platform)
  const made: { stage?: ZoneStage } = {}
  const onCrash = ({ title, code, signal: by }: Ended): void => {
    const what = `${title} ended by itself (${by ?? `exit code ${code ?? '?'}`})`
    screen.line(screen.paint('red', what))
    made.stage?.crashed(what)
  }
  const zone = await makeZone(
    { ...options, addresses, zone: 'demo', onCrash },
    { clock, log: silentLog },
  )
  const sites = new ZoneSites(zone, { ...options, clock, onCrash })
  const stage = new ZoneStage(zone, sites, options.profile, options.vouch)
  made.stage = stage
  const demo = new Demo(options, seams, zone, stage)
  try {
    screen.line(
      `${options.nodes} nodes on ${addresses[0]!} and up, API on ${zone.api.url}, profile ${options.profile}`,
    )
    await zone.start()
    await demo.play(scenes)
    if (options.keep && demo.trouble.length === 0) await demo.stay()
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    stage.end()
    await sites.end()
    await zone.stop()
  }
  screen.end()
  for (const line of drawResults(demo.results, screen.paint)) screen.text(line)
  for (const line of demo.trouble) screen.text(line)
  const report = sceneReports(scenes, demo.results)
  return {
    ok: report.every(scene => scene.outcome === 'ok'),
    interrupted: signal.aborted,
    nodes: options.nodes,
    profile: options.profile,
    vouch: options.vouch,
    durationMs: Math.round(clock.now() - startedAt),
    scenes: report,
    trouble: demo.trouble,
  }
}

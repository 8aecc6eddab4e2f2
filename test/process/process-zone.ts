// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { ExplainView, StatusView } from '../../agent/http/status-view.js'
import { systemClock } from '../../core/clock.js'
import { addressesFrom } from '../../sandbox/addresses.js'
import { makeZone, type Zone } from '../../sandbox/zone.js'
import type { ZoneNode } from '../../sandbox/zone-node.js'
import { cleanEnvironment, eventually, startBundle, type Finished } from '../../testkit/bundle.js'
import { recordingLog } from '../../testkit/recording-log.js'

/** The text of an answer; undefined when nobody answers in time. */
export const get = async (
  url: string,
  limitMs = 10_000,
): Promise<{ readonly status: number; readonly text: string } | undefined> => {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(limitMs) })
    return { status: answer.status, text: await answer.text() }
  } catch {
    return undefined
  }
}

const json = async <T>(url: string): Promise<T | undefined> => {
  // Whoever waits for something asks again.
  const answer = await get(url, 2_000)
  return answer?.status === 200 ? (JSON.parse(answer.text) as T) : undefined
}

/** A zone of real processes, and ways to ask it. */
export interface ProcessZone {
  readonly zone: Zone
  /** Options of the agents that start from now on, as EDGE_HEALTH_… names. */
  readonly env: Record<string, string>
  readonly node: (name: string) => ZoneNode
  readonly statusOf: (name: string) => Promise<StatusView | undefined>
  readonly detailOf: (asked: string, about: string) => Promise<ExplainView | undefined>
  /** `edge-health explain ABOUT`, asked of another node's agent. */
  readonly explain: (asked: string, about: string) => Promise<Finished>
  /** Every running agent calls these nodes down and all others up. */
  readonly agreed: (down: readonly string[], limitMs: number) => Promise<void>
  /** Kill the agent alone, or send it another signal. */
  readonly signalAgent: (name: string, signal: NodeJS.Signals) => void
}

/** Start a zone; it ends with the test, whatever happens. The fast profile, unless `env` says otherwise. */
export const startProcessZone = async (
  t: Test,
  script: string,
  options: {
    readonly base: string
    readonly nodes: number
    readonly env?: Readonly<Record<string, string>>
  },
): Promise<ProcessZone> => {
  const tempDir = mkdtempSync(join(tmpdir(), 'edge-health-test-'))
  const env = cleanEnvironment(options.env)
  const zone = await makeZone(
    {
      addresses: addressesFrom(options.base, options.nodes),
      zone: 'processes',
      profile: 'fast',
      vouch: 'lease',
      command: process.execPath,
      script,
      env,
      tempDir,
      apiPort: 0,
      onCrash: () => undefined,
    },
    { clock: systemClock, log: recordingLog() },
  )
  t.teardown(async () => {
    await zone.stop()
    rmSync(tempDir, { recursive: true, force: true })
  })
  await zone.start()
  const node = (name: string): ZoneNode => zone.node(name)
  const running = (): readonly ZoneNode[] => zone.nodes.filter(each => each.state === 'running')
  const isAgreed = async (down: readonly string[]): Promise<boolean> => {
    const views = await Promise.all(running().map(each => zone.localInfo(each)))
    return views.every(
      view =>
        view?.size === zone.nodes.length &&
        zone.nodes.every(({ name }) => view.get(name) === !down.includes(name)),
    )
  }
  return {
    zone,
    env,
    node,
    statusOf: name => json(`${node(name).localUrl}/status`),
    detailOf: (asked, about) => json(`${node(asked).localUrl}/status?node=${about}`),
    explain: (asked, about) =>
      startBundle(t, script, ['explain', about, '--agent', node(asked).localUrl]).ended,
    agreed: async (down, limitMs) => {
      await eventually(`all call [${down.join()}] down, nobody else`, limitMs, () => isAgreed(down))
    },
    signalAgent: (name, signal) => void process.kill(node(name).pids[0]!, signal),
  }
}

// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { systemClock } from '../../core/clock.js'
import { Child } from '../../sandbox/child.js'
import type { RuleGroup } from './rules.js'
import { freePort } from '../free-port.js'

/** What is scraped, and the labels that its series get. */
export interface ScrapeTarget {
  readonly job: string
  /** `host:port` of `/metrics`. */
  readonly address: string
  readonly labels: Readonly<Record<string, string>>
}

/** A series of an answer: Unix seconds and values, one pair for an instant. */
export interface QuerySeries {
  readonly labels: Readonly<Record<string, string>>
  readonly points: readonly (readonly [at: number, value: number])[]
}

/** An alert that waits or fires, its annotations filled in. */
export interface RaisedAlert {
  readonly state: 'pending' | 'firing'
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** Unix seconds. */
export interface QueryRange {
  readonly from: number
  readonly to: number
  readonly step: number
}

/** A Prometheus that scrapes each 5 s and evaluates each second, asked through its API. */
export interface Prometheus {
  /** What the expression comes to now. @throws Error with Prometheus's words when it cannot be parsed */
  query(expression: string): Promise<readonly QuerySeries[]>
  queryRange(expression: string, range: QueryRange): Promise<readonly QuerySeries[]>
  alerts(): Promise<readonly RaisedAlert[]>
  /** Ends the process and removes its folder. */
  stop(): Promise<void>
}

interface ApiAnswer {
  readonly status: 'success' | 'error'
  readonly error?: string
  readonly data?: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>
      readonly value?: readonly [number, string]
      readonly values?: readonly (readonly [number, string])[]
    }[]
  }
}

const READY_MS = 60_000

const configOf = (targets: readonly ScrapeTarget[]): string =>
  stringify({
    // A busy machine may take seconds for an answer, and what is not answered counts as down.
    global: { scrape_interval: '5s', scrape_timeout: '5s', evaluation_interval: '1s' },
    rule_files: ['rules.yml'],
    scrape_configs: [...new Set(targets.map(({ job }) => job))].map(job => ({
      job_name: job,
      static_configs: targets
        .filter(target => target.job === job)
        .map(({ address, labels }) => ({ targets: [address], labels })),
    })),
  })

const ask = async (url: string, parameters: Record<string, string>) => {
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(parameters) })
  const { status, error, data } = (await answer.json()) as ApiAnswer
  if (status !== 'success' || data === undefined)
    throw new Error(`${parameters['query']}: ${error ?? answer.status}`)
  return data.result.map(({ metric, value, values = [] }): QuerySeries => {
    const found = value === undefined ? values : [value]
    return { labels: metric, points: found.map(([at, text]) => [at, Number(text)]) }
  })
}

const askAlerts = async (url: string): Promise<readonly RaisedAlert[]> => {
  const answer = await fetch(`${url}/api/v1/alerts`)
  const { data } = (await answer.json()) as { data: { alerts: readonly RaisedAlert[] } }
  return data.alerts
}

const isReady = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}/-/ready`)).ok
  } catch {
    return false
  }
}

/**
 * Starts one on a free port of 127.0.0.1.
 * @param program where `prometheus` is
 * @throws Error with its last lines when it does not become ready
 */
export const startPrometheus = async (
  program: string,
  targets: readonly ScrapeTarget[],
  groups: readonly RuleGroup[],
): Promise<Prometheus> => {
  const folder = mkdtempSync(join(tmpdir(), 'edge-health-prometheus-'))
  writeFileSync(join(folder, 'prometheus.yml'), configOf(targets))
  writeFileSync(join(folder, 'rules.yml'), stringify({ groups }))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = new Child({
    title: 'prometheus',
    command: program,
    args: [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    env: { PATH: process.env['PATH'] ?? '' },
  })
  // Also when whoever started it runs out of time and is ended.
  const kill = (): void => void child.kill()
  process.once('exit', kill)
  const stop = async (): Promise<void> => {
    await child.stop(systemClock)
    process.off('exit', kill)
    rmSync(folder, { recursive: true, force: true })
  }
  const giveUpAt = performance.now() + READY_MS
  while (!(await isReady(url))) {
    if (child.end !== undefined || performance.now() > giveUpAt) {
      const said = child.lastLines(10).join('\n')
      await stop()
      throw new Error(`prometheus is not ready:\n${said}`)
    }
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  return {
    alerts: () => askAlerts(url),
    query: query => ask(`${url}/api/v1/query`, { query }),
    queryRange: (query, { from, to, step }) =>
      ask(`${url}/api/v1/query_range`, {
        ...{ query, start: String(from), end: String(to), step: String(step) },
      }),
    stop,
  }
}

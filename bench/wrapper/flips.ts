// SPDX-License-Identifier: Apache-2.0
// A node's health changes: how soon every watcher has heard, what it costs, and that nobody else was touched.
import { FakeAgent } from '../../testkit/zone/fake-agent.js'
import { ALL_ENDPOINTS, fill, LARGE, nodeName, type Size, SMALL, touchedBy } from './cluster.js'
import { Wrapper } from './process.js'
import { percentile, type Row } from './table.js'
import { Upstream } from './upstream.js'
import { Watcher } from './watcher.js'

const FLIPS = 200
const WARM_UP = 10
const REST_MS = 120
/** Nothing for so long: all of a flip has come, or what is missing comes later and counts then. */
const LULL_MS = 50
const LIMIT_MS = 20_000

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const until = async (what: string, holds: () => boolean, limitMs = 60_000): Promise<void> => {
  const end = performance.now() + limitMs
  while (!holds()) {
    if (performance.now() > end) throw new Error(`waited ${limitMs} ms for ${what}`)
    await pause(5)
  }
}

/** A wrapper in a cluster of this size, with clients that hold all slices. */
class Stage {
  readonly size: Size
  readonly upstream = new Upstream()
  readonly agent = new FakeAgent()
  wrapper: Wrapper | undefined
  readonly watchers: Watcher[] = []

  constructor(size: Size) {
    this.size = size
  }

  async start(encodings: readonly ('protobuf' | 'json')[]): Promise<void> {
    fill(this.upstream, this.size)
    const names = Array.from({ length: this.size.nodes }, (_, i) => nodeName(i))
    this.agent.publish(new Map(names.map(name => [name, true])))
    const localInfo = await this.agent.start()
    const url = await this.upstream.start()
    this.wrapper = await Wrapper.start({ url }, { node: nodeName(0), localInfo })
    for (const [i, encoding] of encodings.entries()) {
      const watcher = new Watcher(this.wrapper.api, {
        ...{ title: `watcher ${i}`, encoding, isStreamed: true },
        resource: 'endpointslices',
      })
      this.watchers.push(watcher)
      watcher.start()
    }
    const all = ALL_ENDPOINTS(this.size)
    await until('all endpoints at all watchers', () =>
      this.watchers.every(watcher => watcher.isReady && watcher.endpoints === all),
    )
  }

  /** @returns ms from the word of the agent to the last frame at the last watcher, and CPU. */
  async flip(
    nth: number,
    isNormal: boolean,
  ): Promise<{ ms: number; cpuMs: number; extra: number }> {
    const touched = touchedBy(this.size)
    const wanted = this.watchers.length * touched
    let heard = 0
    for (const watcher of this.watchers) {
      watcher.onEvent = () => {
        heard++
      }
      watcher.isTimed = true
    }
    const cpuBefore = this.wrapper!.cpuMs
    const reportedAt = performance.now()
    this.agent.publish(new Map([[nodeName(nth), isNormal]]))
    const isQuiet = (): boolean => {
      const times = this.watchers.map(({ heardAt }) => heardAt)
      return Math.min(...times) > reportedAt && performance.now() - Math.max(...times) > LULL_MS
    }
    await until('every watcher to hear of a flip', isQuiet, LIMIT_MS)
    for (const watcher of this.watchers) watcher.catchUp()
    const heardAt = (): number => Math.max(...this.watchers.map(watcher => watcher.heardAt))
    let ms = heardAt() - reportedAt
    if (heard < wanted) {
      await until(`${touched} frames of a flip`, () => heard >= wanted, LIMIT_MS)
      ms = heardAt() - reportedAt
    }
    await pause(REST_MS)
    return { ms, cpuMs: this.wrapper!.cpuMs - cpuBefore, extra: heard - wanted }
  }

  async stop(): Promise<void> {
    await Promise.all(this.watchers.map(watcher => watcher.stop()))
    await this.wrapper?.stop()
    await this.agent.stop()
    await this.upstream.stop()
  }
}

const withStage = async <T>(
  size: Size,
  encodings: readonly ('protobuf' | 'json')[],
  act: (stage: Stage) => Promise<T>,
): Promise<T> => {
  const stage = new Stage(size)
  try {
    await stage.start(encodings)
    return await act(stage)
  } finally {
    await stage.stop()
  }
}

interface Flips {
  readonly ms: readonly number[]
  readonly cpuMs: readonly number[]
  readonly extra: number
}

/** Nodes fall and rise one after the other; the first few flips are not counted, the code is cold then. */
const flipAll = async (stage: Stage, count = FLIPS): Promise<Flips> => {
  const found = []
  for (let i = 0; i < WARM_UP + count; i++) {
    const nth = 1 + (Math.floor(i / 2) % (stage.size.nodes - 1))
    found.push(await stage.flip(nth, i % 2 === 1))
  }
  const counted = found.slice(WARM_UP)
  return {
    ms: counted.map(({ ms }) => ms),
    cpuMs: counted.map(({ cpuMs }) => cpuMs),
    extra: found.reduce((sum, { extra }) => sum + extra, 0),
  }
}

const TEN = [...Array<'protobuf'>(8).fill('protobuf'), 'json', 'json'] as const

const showMs = (values: readonly number[]): string =>
  `p50 ${percentile(values, 0.5).toFixed(1)}, p99 ${percentile(values, 0.99).toFixed(1)} ms`

/** How soon everybody has heard. */
export const latencyRows = async (): Promise<readonly Row[]> => {
  const small = await withStage(SMALL, TEN, flipAll)
  return [
    {
      what: `/localinfo change → last frame at the last of ${TEN.length} watchers, ${touchedBy(SMALL)} slices touched`,
      bar: 'p99 ≤ 50 ms',
      measured: showMs(small.ms),
      isMet: percentile(small.ms, 0.99) <= 50,
    },
  ]
}

/** What a flip costs with many services, and what the process holds. */
export const largeRows = async (): Promise<readonly Row[]> =>
  withStage(LARGE, ['protobuf'], async stage => {
    const idle = stage.wrapper!.memory
    const { ms, cpuMs, extra } = await flipAll(stage, 40)
    const { rss, peak } = stage.wrapper!.memory
    const mean = cpuMs.reduce((sum, one) => sum + one, 0) / cpuMs.length
    const size = `${LARGE.services} slices, ${ALL_ENDPOINTS(LARGE)} endpoints`
    return [
      {
        what: `node flip with ${size}: CPU per ${touchedBy(LARGE)} touched slices`,
        bar: '≤ 50 ms',
        measured: `mean ${mean.toFixed(1)}, ${showMs(cpuMs)}; frames after ${showMs(ms)}`,
        isMet: mean <= 50,
      },
      {
        what: 'frames of slices that the flip does not touch',
        bar: '0',
        measured: String(extra),
        isMet: extra === 0,
      },
      {
        what: `RSS with ${size}, one protobuf watcher`,
        bar: '≤ 160 MiB',
        measured: `${rss.toFixed(0)} MiB after ${cpuMs.length + WARM_UP} flips (${idle.rss.toFixed(0)} before, peak ${peak.toFixed(0)})`,
        isMet: Math.max(rss, idle.rss) <= 160,
      },
    ]
  })

export const smallMemoryRows = async (): Promise<readonly Row[]> =>
  withStage(SMALL, ['protobuf'], async stage => {
    const idle = stage.wrapper!.memory
    const flips = 20
    await flipAll(stage, flips)
    const { rss, peak } = stage.wrapper!.memory
    return [
      {
        what: `RSS with ${SMALL.services} services, one protobuf watcher`,
        bar: '≤ 75 MiB',
        measured: `${rss.toFixed(0)} MiB after ${flips + WARM_UP} flips (${idle.rss.toFixed(0)} before, peak ${peak.toFixed(0)})`,
        isMet: Math.max(rss, idle.rss) <= 75,
      },
    ]
  })

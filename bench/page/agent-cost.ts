// SPDX-License-Identifier: Apache-2.0
// What the page and the texts cost a real agent: the shipped file with the image's flags, in a played zone where nothing happens.
import type { Browser } from '../../testkit/browser.js'
import { untilTrue } from '../../testkit/browser.js'
import { IMAGE_FLAGS } from '../../sandbox/image.js'
import { AgentProcess, bundle, read } from '../agent/agent-process.js'
import { quietFaults, worldOrder } from '../agent/cost.js'
import { cpuMs, memoryOf } from '../agent/proc.js'
import { WorldProcess } from '../agent/world-process.js'
import { castOf } from '../agent/world/cast.js'

export interface PageOrder {
  readonly nodes: number
  /** Of each window in which memory is read. */
  readonly minutes: number
  readonly node: string
  /** The bench's own file, to run the world with. */
  readonly bench: string
  /** Undefined: the page is not opened. */
  readonly browser: Browser | undefined
}

export interface PageCost {
  /** Mean of a window each: nobody asks; nobody asks yet; the page is open and used. */
  readonly rssMiB: { readonly before: number; readonly without: number; readonly with?: number }
  readonly answers: readonly {
    readonly path: string
    readonly ms: number
    readonly bytes: number
  }[]
  /** What is wrong with the zone, which makes the figures void. */
  readonly faults: readonly string[]
}

const BLOCK = 92
const READY_LIMIT_MS = 60_000
const SETTLING_MS = 60_000
const READS = 12
const REQUESTS = 50
const PATHS = ['/status?format=text', '/explain/edge-9?format=text', '/page/board', '/matrix', '/history'] // prettier-ignore

const wait = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const meanRss = async (pid: number, minutes: number): Promise<number> => {
  let sum = 0
  for (let i = 0; i < READS; i++) {
    await wait((minutes * 60_000) / READS)
    sum += memoryOf(pid).rssMiB
  }
  return sum / READS
}

/** Somebody looks: the list, a node's drawer, the history; then the page stays open. */
const rssWithPage = async (agent: AgentProcess, browser: Browser, minutes: number) => {
  const page = await browser.newPage()
  await page.goto(`${agent.url}/`)
  await untilTrue(page, "document.querySelectorAll('.row').length > 0")
  await page.click('.row')
  const mean = await meanRss(agent.pid, minutes)
  await page.close()
  return mean
}

/** CPU time of one answer, less what the agent uses meanwhile anyway. */
const answerCost = async (agent: AgentProcess, path: string, idleShare: number) => {
  await read(`${agent.url}${path}`)
  const startedAt = performance.now()
  const before = cpuMs(agent.pid)
  let bytes = 0
  for (let i = 0; i < REQUESTS; i++) {
    const text = await read(`${agent.url}${path}`)
    if (text === undefined) throw new Error(`the agent does not answer GET ${path} with 200`)
    bytes = Buffer.byteLength(text)
  }
  const idle = idleShare * (performance.now() - startedAt)
  return { path, ms: (cpuMs(agent.pid) - before - idle) / REQUESTS, bytes }
}

const measure = async (agent: AgentProcess, order: PageOrder): Promise<PageCost> => {
  const { minutes, browser, nodes } = order
  await wait(SETTLING_MS)
  const before = await meanRss(agent.pid, minutes)
  const idleFrom = cpuMs(agent.pid)
  const without = await meanRss(agent.pid, minutes)
  const idleShare = (cpuMs(agent.pid) - idleFrom) / (minutes * 60_000)
  const used = browser && { with: await rssWithPage(agent, browser, minutes) }
  const answers = []
  for (const path of PATHS) answers.push(await answerCost(agent, path, idleShare))
  const faults = await quietFaults(agent, nodes)
  return { rssMiB: { before, without, ...used }, answers, faults }
}

/** Play a quiet zone around one agent, and ask it. */
export const measurePageCost = async (order: PageOrder): Promise<PageCost> => {
  const me = castOf(order.nodes, BLOCK).members[0]!
  const agent = new AgentProcess({
    ...{ node: order.node, script: bundle, core: undefined, log: undefined },
    ...{ profile: 'default', name: me.name, address: me.address },
    ...{ more: ['--identity=off'], flags: () => IMAGE_FLAGS },
  })
  const world = new WorldProcess(order.bench, undefined)
  try {
    const stage = await world.call('begin', worldOrder(order.nodes, 'default', BLOCK))
    if (stage.kubeconfig === undefined) throw new Error('the world plays no apiserver')
    await agent.warmCache()
    agent.start({ ...stage, access: stage.kubeconfig })
    if ((await agent.ready(READY_LIMIT_MS)) === undefined)
      throw new Error(`the agent did not become ready: ${agent.said}`)
    await world.call('play')
    return await measure(agent, order)
  } finally {
    await agent.stop()
    await world.end()
  }
}

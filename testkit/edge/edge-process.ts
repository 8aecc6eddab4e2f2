// SPDX-License-Identifier: Apache-2.0
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { buildSync } from 'esbuild'
import type { Pair } from './certificates.js'
import type { EdgeEvent, EdgeTimes } from './edge-part.js'
import type { EdgeView } from './edge.js'

/** What a process of edges is told. */
export interface EdgesConfig {
  /** `wss://host:port` */
  readonly url: string
  /** Signs their certificates. */
  readonly authority: Pair
  readonly nodes: readonly string[]
  /** Each edge's store is a file there. @default in memory */
  readonly folder?: string
  readonly times?: Partial<EdgeTimes>
  /** From one edge's start to the next, ms. @default 0 */
  readonly staggerMs?: number
}

/** A question that each edge of a process asks again and again, whether it was answered or not. */
export interface Questions {
  readonly resource: string
  readonly perSecond: number
  readonly seconds: number
}

/** What came of them, of all edges. */
export interface Answers {
  readonly asked: number
  /** With an object. */
  readonly answered: number
  readonly ms: readonly number[]
}

/** A process of simulated edges. */
export interface EdgeProcess {
  /** What happened to its edges so far. */
  readonly events: readonly (EdgeEvent & { readonly node: string })[]
  /** Its edges as they are now. */
  view(): Promise<Readonly<Record<string, EdgeView>>>
  /** Resolves when the last one is answered, or is not. */
  ask(questions: Questions): Promise<Answers>
  /** Kill the edges; resolves when the process has ended. */
  close(): Promise<void>
}

/** Start a process of simulated edges; whoever starts it closes it. */
export const startEdges = (config: EdgesConfig): EdgeProcess => {
  const dir = mkdtempSync(join(tmpdir(), 'edge-health-edges-'))
  const script = join(dir, 'edges.mjs')
  buildSync({
    ...{ entryPoints: ['testkit/edge/main.ts'], outfile: script, bundle: true },
    ...{ platform: 'node', target: 'node20.19', format: 'esm', logLevel: 'warning' },
    banner: {
      js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);",
    },
  })
  const child = spawn(process.execPath, [script], {
    env: { PATH: process.env['PATH'] ?? '', EDGES: JSON.stringify(config) },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>(resolve => child.once('close', () => resolve()))
  const events: (EdgeEvent & { readonly node: string })[] = []
  const viewers: ((views: Record<string, EdgeView>) => void)[] = []
  const askers: ((answers: Answers) => void)[] = []
  createInterface({ input: child.stdout }).on('line', line => {
    const message = JSON.parse(line) as
      | { readonly views: Record<string, EdgeView> }
      | { readonly answers: Answers }
      | (EdgeEvent & { readonly node: string })
    if ('views' in message) viewers.shift()?.(message.views)
    else if ('answers' in message) askers.shift()?.(message.answers)
    else events.push(message)
  })
  return {
    events,
    view: () =>
      new Promise(resolve => {
        viewers.push(resolve)
        child.stdin.write('view\n')
      }),
    ask: questions =>
      new Promise(resolve => {
        askers.push(resolve)
        child.stdin.write(`${JSON.stringify(questions)}\n`)
      }),
    close: async () => {
      child.stdin.end()
      await ended
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

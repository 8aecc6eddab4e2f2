// SPDX-License-Identifier: Apache-2.0
import { systemClock } from '../../../core/clock.js'
import { World, type Stage, type WorldCount, type WorldOrder } from './world.js'

/** What the world process can be asked for. */
export interface WorldCalls {
  readonly begin: (order: WorldOrder) => Promise<Stage>
  readonly play: () => Promise<void>
  readonly forgetGaps: () => void
  readonly count: () => WorldCount
  readonly kill: (n: number) => void
  readonly revive: (n: number) => Promise<void>
  readonly leave: (n: number) => Promise<void>
  readonly comeBack: (n: number) => Promise<void>
  readonly reload: () => Promise<void>
  readonly breakWatches: () => void
  readonly stop: () => Promise<void>
}

export type WorldCall = keyof WorldCalls

/** A call as it crosses the process border. */
export interface WorldMessage {
  readonly id: number
  readonly call: WorldCall
  readonly argument: unknown
}

export interface WorldReply {
  readonly id: number
  readonly value?: unknown
  readonly error?: string
}

const silent = (): void => undefined
const log = { debug: silent, info: silent, warn: silent, error: silent }

const makeCalls = (): WorldCalls => {
  let world: World | undefined
  const it = (): World => {
    if (world === undefined) throw new Error('begin comes first')
    return world
  }
  return {
    begin: async order => {
      world = await World.make(order, { clock: systemClock, log })
      return world.begin()
    },
    play: () => it().play(),
    forgetGaps: () => it().forgetGaps(),
    count: () => it().count,
    kill: n => it().kill(n),
    revive: n => it().revive(n),
    leave: n => it().leave(n),
    comeBack: n => it().comeBack(n),
    reload: () => it().cluster.reload(),
    breakWatches: () => it().cluster.breakWatches(),
    stop: () => it().stop(),
  }
}

/** Be the world: answer calls until the parent goes away. */
export const runWorld = (): void => {
  const calls = makeCalls()
  process.on('message', (message: WorldMessage) => {
    const { id, call, argument } = message
    const run = calls[call] as (argument: unknown) => unknown
    void (async (): Promise<WorldReply> => {
      try {
        return { id, value: await run(argument) }
      } catch (error) {
        return {
          id,
          error: error instanceof Error ? (error.stack ?? error.message) : String(error),
        }
      }
    })().then(reply => process.send?.(reply))
  })
  process.on('disconnect', () => process.exit())
}

// SPDX-License-Identifier: Apache-2.0
import type { StageStatus } from '../../../core/stage.js'
import type { WriteRecord } from '../../results.js'
import type { ResultStore } from '../../store.js'

/** The reviews of what there is to write. */
export interface Reviews {
  readonly count: number
  /** Epoch ms; NaN before the first. */
  readonly lastAt: number
  /** In words: what the last one found to be written. */
  readonly said: string
}

const hasFailed = ({ result }: WriteRecord): boolean => result !== 'done' && result !== 'withheld'

/** The newest of the writes that did not work, and how many nodes have one. */
const describe = (failed: readonly WriteRecord[]): string => {
  const { node, what, result, trouble } = failed.reduce((a, b) => (b.at >= a.at ? b : a))
  const all = failed.length === 1 ? '' : `; writes about ${failed.length} nodes fail`
  return `${node}: ${what}: ${result}: ${trouble}${all}`
}

/**
 * How the stage *write* stands: it fails while the newest write about a node did not work and is still to be done.
 * @param isWanted whether something is still to be written about the node
 */
export const statusOf = (
  { count, lastAt, said }: Reviews,
  { zone, writes }: Pick<ResultStore, 'zone' | 'writes'>,
  isWanted: (node: string) => boolean,
): StageStatus => {
  const stage = {
    ...({ name: 'write', rounds: count } as const),
    lastAt: count === 0 ? null : new Date(lastAt).toISOString(),
  }
  if (zone.current === undefined)
    return { ...stage, state: 'waiting', detail: 'waiting for zone and keys' }
  const failed = [...writes.current.values()].filter(
    write => hasFailed(write) && isWanted(write.node),
  )
  if (failed.length > 0) return { ...stage, state: 'failing', detail: describe(failed) }
  return { ...stage, state: 'ok', detail: said }
}

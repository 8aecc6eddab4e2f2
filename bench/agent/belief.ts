// SPDX-License-Identifier: Apache-2.0
// What the agent believed of what the played members said: a cheap agent that refuses everything is worth nothing.

export const IDENTITIES = ['off', 'prefer', 'require'] as const

/** `--identity` of the agent; but for `off` the played members sign with keys of their own. */
export type Identity = (typeof IDENTITIES)[number]

/** @throws RangeError for any other word */
export const parseIdentityMode = (text: string): Identity => {
  const mode = IDENTITIES.find(known => known === text)
  if (mode === undefined)
    throw new RangeError(`--identity must be ${IDENTITIES.join(', ')}, got ${text}`)
  return mode
}

/** What is read of `/status`. */
export interface ShownStatus {
  readonly zone: { readonly members: number }
  readonly identity: { readonly generation: number | null }
  readonly nodes: readonly ShownNode[]
}

interface ShownNode {
  readonly name: string
  readonly verdict: string
  readonly recordAgeSeconds: number | null
  /** Null of the agent's own node. */
  readonly peer: { readonly isSigned: boolean } | null
}

/** A record counts for so long. */
const RECORD_TTL_SECONDS = 60
/** Nobody knows a number to show before the first request was answered. */
const USUAL = 'challenged'

/** Members whose own signature stands behind what the agent holds of them now, itself among them. */
export const provedMembers = ({ identity, nodes }: ShownStatus): number =>
  identity.generation === null
    ? 0
    : nodes.filter(
        ({ peer, recordAgeSeconds: age }) =>
          peer === null || (peer.isSigned && age !== null && age <= RECORD_TTL_SECONDS),
      ).length

/** Messages that were refused so far, by reason, of the text of `/metrics`. */
export const refusalsIn = (metrics: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [
      ...metrics.matchAll(/^edge_health_exchange_refused_total\{reason="([\w-]+)"\} (\d+)$/gm),
    ].flatMap(([, reason, count]) =>
      reason === USUAL || count === '0' ? [] : [[reason!, Number(count)]],
    ),
  )

/** How often each thing happened in between; what did not is left out. */
export const increaseOf = (
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(after).flatMap(([name, count]) => {
      const more = count - (before[name] ?? 0)
      return more > 0 ? [[name, more]] : []
    }),
  )

/** What both sides made of each other's messages, in a time. */
export interface Belief {
  readonly proved: number
  /** By the agent, by reason. */
  readonly refused: Readonly<Record<string, number>>
  /** The agent's by the world, and the world's that went unanswered. */
  readonly refusedByWorld: number
  readonly failedOfWorld: number
}

const sumOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)

/** Refused messages of a run, both ways. */
export const refusedIn = ({ refused, refusedByWorld }: Belief): number =>
  sumOf(refused) + refusedByWorld

/** Why the run does not count. */
export const beliefFaults = (belief: Belief, nodes: number, mode: Identity): readonly string[] => {
  const faults: string[] = []
  const { proved, refused, refusedByWorld, failedOfWorld } = belief
  if (mode !== 'off' && proved < nodes)
    faults.push(`invalid: the agent has proved what ${proved} of ${nodes} members signed`)
  if (sumOf(refused) > 0)
    faults.push(
      `invalid: the agent refused ${Object.entries(refused)
        .map(([reason, count]) => `${count} ${reason}`)
        .join(', ')}`,
    )
  if (refusedByWorld > 0) faults.push(`invalid: the world refused ${refusedByWorld} of the agent`)
  if (failedOfWorld > 0) faults.push(`invalid: ${failedOfWorld} exchanges of the world failed`)
  return faults
}

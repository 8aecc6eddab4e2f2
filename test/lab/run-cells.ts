// SPDX-License-Identifier: Apache-2.0
import { systemClock, sleep } from '../../core/clock.js'
import { seededRandom } from '../../testkit/seeded-random.js'
import {
  type Cell,
  type Claim,
  isBroken,
  type Limits,
  limitsFor,
  type Played,
  type Roles,
  zoneOf,
} from './cell.js'
import type { NodeSnapshot } from '../../sandbox/demo/snapshot.js'
import { CELLS } from './cells/all.js'
import type { Lab } from './lab.js'
import { IDENTITIES, type LabOptions, UsageError } from './options.js'
import type { View } from './observer.js'
import { playCell } from './play.js'
import { FairTime } from './slowness.js'

/** Why a cell cannot be played in such a zone; undefined when it can. */
const refusal = (
  cell: Cell,
  { nodes, profile, identity, other, graceMs }: LabOptions,
): string | undefined => {
  const { name, least, most = Infinity, identities = IDENTITIES, leastGraceMs = 0 } = cell
  if (nodes < least) return `the cell ${name} needs --nodes ${least} or more, got ${nodes}`
  if (nodes > most) return `the cell ${name} needs --nodes ${most} or fewer, got ${nodes}`
  if (cell.profile !== undefined && cell.profile !== profile)
    return `the cell ${name} needs --profile ${cell.profile}, got ${profile}`
  if (graceMs < leastGraceMs)
    return `the cell ${name} needs --grace ${leastGraceMs / 1_000} or more, got ${graceMs / 1_000}`
  if (!identities.includes(identity))
    return `the cell ${name} needs --identity ${identities.join(' or ')}, got ${identity}`
  if (cell.needsOther === true && other === undefined) return `the cell ${name} needs --other WHICH`
  return undefined
}

/** The cells that were asked for. @throws UsageError for an unknown name, or a zone that does not fit it. */
export const chooseCells = (options: LabOptions): readonly Cell[] => {
  const isSpecial = (cell: Cell): boolean => cell.programs !== undefined
  const isUsual = (cell: Cell): boolean => !isSpecial(cell) && cell.since === undefined
  const fits = (cell: Cell): boolean => refusal(cell, options) === undefined
  const { command } = options
  const special = CELLS.filter(
    cell => isSpecial(cell) && cell.name.startsWith(`${command}-`) && fits(cell),
  ).map(cell => cell.name)
  const isOfOwn = ['wrapper', 'grids'].includes(command) && options.cells.length === 0
  const cells = isOfOwn ? special : options.cells
  for (const name of cells) {
    const cell = CELLS.find(each => each.name === name)
    const known = CELLS.map(each => each.name).join(', ')
    if (cell === undefined) throw new UsageError(`--cells must be of ${known}, got ${name}`)
    const why = refusal(cell, options)
    if (why !== undefined) throw new UsageError(why)
  }
  return CELLS.filter(
    cell => fits(cell) && (cells.length === 0 ? isUsual(cell) : cells.includes(cell.name)),
  )
}

/** A shuffled copy of the names: who plays which part. A cell that is played alone draws the same. */
const drawRoles = (names: readonly string[], cell: string, seed: number): Roles => {
  const random = seededRandom(Buffer.from(cell).reduce((sum, byte) => sum * 31 + byte, seed) >>> 0)
  const roles = [...names]
  for (let i = roles.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    ;[roles[i], roles[j]] = [roles[j]!, roles[i]!]
  }
  return roles
}

const SETTLE_MS = 60_000

/** The agents' rounds repeat in this time: a fault that comes at any moment of it finds them in any phase. */
const phaseOf = (profile: LabOptions['profile']): number => (profile === 'fast' ? 1_000 : 10_000)

/** What is not as it should be with one node. */
const troublesOf = (
  { nodes, states }: View,
  node: NodeSnapshot,
  signers: readonly string[],
): readonly string[] => {
  const { name, object, localinfo, status } = node
  const state = states.get(name)
  const taints = (object?.spec?.taints ?? []).map(({ key }) => key)
  const down = nodes.filter(each => localinfo?.get(each.name) !== true).map(each => each.name)
  const seen: readonly (readonly [boolean, string])[] = [
    [taints.length > 0, `has the taints ${taints.join(', ')}`],
    [state?.ready !== 'True', `is Ready=${state?.ready}`],
    [state?.marked !== false, 'is marked'],
    [state?.pod !== 'ready', `has its Pod ${state?.pod}`],
    [status?.cloudLink.state !== 'up', `calls its link ${status?.cloudLink.state}`],
    [
      // Those of members that signed until just now are known, too.
      signers.includes(name) && (status?.identity.members ?? 0) < signers.length,
      `knows the identities of ${status?.identity.members} of ${signers.length}`,
    ],
    [down.length > 0, `does not call up ${down.join(', ')}`],
  ]
  return seen.filter(([isSo]) => isSo).map(([, what]) => `${name} ${what}`)
}

/** Those who must know each other's identities. */
const signersOf = ({ nodes, settings }: Lab): readonly string[] =>
  settings.identity === 'off' ? [] : nodes.filter(({ signs }) => signs).map(({ name }) => name)

/** Undo everything and wait until all is well. @returns what is not, when time is up. */
const settle = async (lab: Lab, signal: AbortSignal): Promise<readonly string[]> => {
  // The lab itself takes rights away here, while agents run that had them.
  lab.observer.warmSince = Infinity
  await lab.mend(signal)
  const patience = new FairTime()
  patience.restart(performance.now())
  let troubles: readonly string[] = ['nobody looked']
  while (patience.spentAt(performance.now()) < SETTLE_MS) {
    const view = await lab.observer.look()
    troubles = view.nodes.flatMap(node => troublesOf(view, node, signersOf(lab)))
    if (troubles.length === 0)
      troubles = (await lab.whoIsFree(signal)).map(who => `not confined: ${who}`)
    if (troubles.length === 0) {
      lab.observer.warmSince = Date.now()
      // Once more, now that it counts.
      troubles = (await lab.whoIsFree(signal)).map(who => `not confined: ${who}`)
    }
    if (troubles.length === 0) return []
    lab.observer.warmSince = Infinity
    // A Pod that came back before its Node's taint went was evicted once more.
    for (const { name, object } of view.nodes)
      if (view.states.get(name)?.pod === 'gone' && (object?.spec?.taints ?? []).length === 0)
        await lab.props.renewShop(lab.node(name), signal)
    if (!(await sleep(systemClock, 300, signal))) break
  }
  signal.throwIfAborted()
  return troubles
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

const word = (claim: Claim): string => {
  if (isBroken(claim)) return 'NOT OK'
  return claim.ok ? 'ok    ' : 'did not'
}

const tell = (played: Played, options: LabOptions, say: (line: string) => void): void => {
  for (const claim of played.claims) {
    const { kind, ms } = claim
    say(`  ${word(claim)} ${claim.claim} (${kind === 'stays' ? 'for ' : ''}${seconds(ms)})`)
  }
  for (const note of played.notes) say(`         ${note}`)
  if (played.ok) return
  say('  timeline:')
  for (const { at, kind, node, text } of played.moments)
    say(`    ${seconds(at).padStart(7)} ${kind.padEnd(6)} ${node === '' ? '' : `${node}: `}${text}`)
  for (const line of played.logs) say(`    ${line}`)
  const { profile, identity, graceMs, tolerationMs, other } = options
  const grace = `--profile ${profile} --identity ${identity} --grace ${graceMs / 1_000} --toleration ${tolerationMs / 1_000}${other === undefined ? '' : ` --other ${other}`}`
  say(
    `  alone: npm run lab -- --nodes ${options.nodes} ${grace} --cells ${played.cell} --seed ${played.seed}`,
  )
}

const notSettled = (cell: Cell, zone: string, seed: number, notes: readonly string[]): Played => ({
  ...{ zone, cell: cell.name, shows: cell.shows, seed, ok: false, ms: 0 },
  claims: [{ claim: 'before it all is well', kind: 'becomes', ok: false, ms: SETTLE_MS }],
  ...{ moments: [], stretches: {}, notes, logs: [] },
})

/** Play the cells one after the other on one zone. */
export const runCells = async (
  lab: Lab,
  options: LabOptions,
  seams: {
    readonly say: (line: string) => void
    readonly signal: AbortSignal
    readonly trouble: () => string | undefined
    readonly onPlayed: (played: Played) => void
  },
): Promise<void> => {
  const { say, signal, trouble } = seams
  const limits: Limits = limitsFor(options)
  const cells = chooseCells(options)
  for (let trial = 0; trial < options.trials; trial++)
    for (const cell of cells) {
      const seed = (options.seed + trial) >>> 0
      const nth = options.trials > 1 ? `, trial ${trial + 1}` : ''
      say(`${cell.name}: ${cell.shows} (seed ${seed}${nth})`)
      const troubles = await settle(lab, signal)
      const played =
        troubles.length === 0
          ? await playCell(cell, lab, {
              ...{ seed, limits, signal, trouble },
              delayMs: seededRandom(seed).below(phaseOf(options.profile)),
              roles: drawRoles(lab.names, cell.name, seed),
            })
          : notSettled(cell, zoneOf(options), seed, troubles)
      tell(played, options, say)
      seams.onPlayed(played)
      if (trouble() !== undefined) return
    }
}

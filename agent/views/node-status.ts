// SPDX-License-Identifier: Apache-2.0
import { fingerprintOf } from '../identity/node-keys.js'
import { voteOf } from '../stages/check/target-history.js'
import type { PeerStatus } from '../stages/exchange/status.js'
import type {
  GuardView,
  NodeDetail,
  NodeStatus,
  PeerView,
  ProbeView,
  VouchView,
  VoterView,
  WriteView,
} from '../http/status-view.js'
import { wordingOf } from '../stages/write/desired-marks.js'
import type { NextWrite } from '../stages/write/write-schedule.js'
import { maintenanceOf, maintenanceTrouble } from '../../core/maintenance.js'
import { FLAG } from '../../vote/evidence.js'
import { explanationOf, type Explanation } from '../../vote/explanation.js'
import { describeGuard, span, describeUncounted, describeVouchEnd } from '../../plan/messages.js'
import { isVouched, vouchRefusal } from '../../vote/vouch.js'
import { topWriter } from '../../vote/writer.js'
import { equivocationText } from '../text/identity-words.js'
import { nextWriteOf } from './next-write.js'
import { nodeIdentityOf, unprovedOf } from './node-identity.js'
import type { NodeScene } from './node-scene.js'

const MILLIONTHS = 1_000_000

/** A record is waited for this many exchange periods before its sender counts as silent. */
const SILENT_PERIODS = 6

const probeOf = ({ options, check, times, state }: NodeScene, index: number): ProbeView | null => {
  const probe = check.stateOf(state.roster.members[index]!.name)
  if (probe === undefined) return null
  return {
    vote: voteOf(probe),
    score: probe.score / MILLIONTHS,
    scoreLine: options.scoreLine / MILLIONTHS,
    failedRounds: Math.max(0, probe.failedRounds),
    loss: probe.loss,
    roundTripSeconds: probe.roundTripMs === undefined ? null : probe.roundTripMs / 1_000,
    lastRoundSeconds: times.age(probe.lastRoundAt),
    reason: probe.reason,
    heldSeconds: Math.max(0, times.until(probe.heldUntil) ?? 0),
  }
}

const DIALECTS: Readonly<Record<PeerStatus['speaks'], PeerView['dialect']>> = {
  unknown: 'unknown',
  v1: 'edge-health',
  'v0.6': 'superedge-v0.6',
  'v0.9': 'superedge-v0.9',
}

/**
 * What is wrong with a peer, in words; null when nothing is.
 * @param refused why its messages were refused, of one that is not heard
 */
export const peerTroubleOf = (
  { trouble, equivocations }: Pick<PeerStatus, 'trouble' | 'equivocations'>,
  refused: readonly string[],
): string | null => {
  if (trouble !== null) return trouble
  if (refused.length > 0) return `refused: ${refused.join(', ')}`
  if (equivocations === 0) return null
  return equivocationText(equivocations)
}

const peerOf = ({ options, peers, times, state }: NodeScene, index: number): PeerView | null => {
  const peer = peers.get(state.roster.members[index]!.name)
  if (peer === undefined) return null
  const lastHeardSeconds = peer.lastHeardAt === null ? null : times.age(peer.lastHeardAt)
  const limit = (SILENT_PERIODS * options.exchangePeriodMs * peers.size) / 1_000
  const isSilent = lastHeardSeconds !== null && lastHeardSeconds > limit
  const refused = Object.keys(peer.refusals).filter(kind => kind !== 'challenged')
  const heard = isSilent ? 'silent' : 'ok'
  return {
    state: lastHeardSeconds === null ? (refused.length > 0 ? 'refused' : 'unknown') : heard,
    dialect: DIALECTS[peer.speaks],
    lastHeardSeconds,
    isSigned: peer.isSigned,
    keySet: peer.keySetHash,
    isKeyRefused: peer.isKeyRefused,
    trouble: peerTroubleOf(peer, heard === 'ok' ? [] : refused),
  }
}

const vouchOf = (scene: NodeScene, index: number): VouchView => {
  const { options, state, times, writer } = scene
  const { judgement, table, vouching, roster, ranking } = state
  if (options.vouch === 'off') return { state: 'off', since: null, by: null, reason: '--vouch=off' }
  const { name } = roster.members[index]!
  if (isVouched(vouching, index)) {
    const top = topWriter(judgement, table, { index, id: roster.members[index]!.id }, ranking)
    const how =
      options.vouch === 'lease'
        ? 'its Lease is renewed in its place'
        : 'its unreachable taint is taken off'
    return {
      state: 'active',
      since: times.iso(vouching.since[index]!),
      by: top === undefined ? null : roster.members[top]!.name,
      reason: writer.taintBackoff(name) ?? how,
    }
  }
  const why = vouchRefusal(judgement, table, index, { now: times.now, options })
  const reason = why === undefined ? 'about to begin' : describeVouchEnd(why)
  const isCut = (table.flags[index]! & FLAG.cloudCut) !== 0
  const isBlocked = isCut && why !== 'link-back'
  return { state: isBlocked ? 'blocked' : 'idle', since: null, by: null, reason }
}

const guardsOf = (
  scene: NodeScene,
  explanation: Explanation,
  next: NextWrite | undefined,
): GuardView[] => {
  const { state, store, times, writer } = scene
  const wording = wordingOf(state, times.now)
  const guards: GuardView[] = explanation.guards.map(guard => ({
    kind: guard.kind,
    text: describeGuard(guard, wording),
  }))
  const isHeldBack =
    store.ownNode.current.cloudLink.state === 'cut' &&
    (next !== undefined || explanation.verdict === 'unhealthy')
  if (isHeldBack)
    guards.push({
      kind: 'cloud-link-cut',
      text: 'this agent does not reach the apiserver, so it writes nothing',
    })
  const heldUntil = writer.heldUntil(state.roster.members[explanation.index]!.name)
  if (next?.desired === 'healthy' && heldUntil > times.now)
    guards.push({
      kind: 'flapping',
      text: `its cloud link comes and goes: its marks stay for another ${span(heldUntil - times.now)}`,
    })
  return guards
}

const lastWriteOf = ({ store, options }: NodeScene, name: string): WriteView | null => {
  const write = store.writes.current.get(name)
  if (write === undefined) return null
  const { at, what, kind, result } = write
  return { at: new Date(at).toISOString(), by: options.nodeName, what: `${kind}: ${what}`, result }
}

const kubeletOf = (flags: number): NodeStatus['kubelet'] =>
  (flags & FLAG.kubeletBad) !== 0 ? 'bad' : (flags & FLAG.kubeletWell) !== 0 ? 'well' : 'unknown'

/** What the operators announced about the node, as its Node has it now. */
const maintenanceAt = (
  { writer, times }: NodeScene,
  name: string,
): Pick<NodeStatus, 'maintenance' | 'maintenanceTrouble'> => {
  const node = writer.nodeOf(name)
  if (node === undefined) return { maintenance: null, maintenanceTrouble: null }
  return {
    maintenance: maintenanceOf(node, times.wall) ?? null,
    maintenanceTrouble: maintenanceTrouble(node, times.wall) ?? null,
  }
}

const explanationAt = ({ state, times, options }: NodeScene, index: number): Explanation =>
  explanationOf(state.judgement, state.table, index, { now: times.now, options })

const statusFrom = (scene: NodeScene, explanation: Explanation): NodeStatus => {
  const { state, times, writer } = scene
  const { ownKubelet } = scene.check
  const { index } = explanation
  const { name, address } = state.roster.members[index]!
  const next = writer.nextWrite(name)
  return {
    name,
    address,
    isSelf: explanation.isSelf,
    verdict: explanation.verdict,
    pending: explanation.pending === 'undecided' ? null : explanation.pending,
    pendingSince: times.iso(explanation.pendingAt),
    class: explanation.class,
    since: times.iso(explanation.classSince),
    local: explanation.local,
    votes: {
      ...{ down: explanation.down, up: explanation.up },
      ...{ notLooked: explanation.notLooked, needed: explanation.needed },
    },
    guards: guardsOf(scene, explanation, next),
    probe: probeOf(scene, index),
    recordAgeSeconds: times.age(state.table.producedAt[index]!),
    isHeard: times.now - state.table.producedAt[index]! <= scene.options.recordTtlMs,
    kubelet: kubeletOf(state.table.flags[index]!),
    kubeletReason: explanation.isSelf && ownKubelet !== '' ? ownKubelet : null,
    cloudCutSince: times.iso(explanation.cloudCutAt),
    ...maintenanceAt(scene, name),
    peer: explanation.isSelf ? null : peerOf(scene, index),
    vouch: vouchOf(scene, index),
    lastWrite: lastWriteOf(scene, name),
    nextWrite: nextWriteOf(scene, explanation, next),
  }
}

/** One member as this agent sees it. */
export const nodeStatusOf = (scene: NodeScene, index: number): NodeStatus =>
  statusFrom(scene, explanationAt(scene, index))

const fingerprintIn = ({ store, state }: NodeScene, index: number): string | null => {
  const { own, pins } = store.identities.current
  const isOwn = index === state.table.self
  const keys = isOwn ? own?.keys.public : pins.get(state.roster.members[index]!.name)?.keys
  return keys === undefined ? null : fingerprintOf(keys)
}

/** The same with every voter, and by which keys this agent knows it. */
export const nodeDetailOf = (scene: NodeScene, index: number): NodeDetail => {
  const explanation = explanationAt(scene, index)
  const { members } = scene.state.roster
  const voters = explanation.voters.map(({ voter, says, ageMs, uncounted }): VoterView => ({
    name: members[voter]!.name,
    says: uncounted === 'unheard' ? 'nothing' : says,
    ageSeconds: Number.isFinite(ageMs) ? ageMs / 1_000 : null,
    counts: uncounted === undefined,
    why:
      uncounted === undefined ? null : (unprovedOf(scene, voter) ?? describeUncounted(uncounted)),
  }))
  const keyFingerprint = fingerprintIn(scene, index)
  const identity = nodeIdentityOf(scene, index)
  return { ...statusFrom(scene, explanation), voters, keyFingerprint, identity }
}

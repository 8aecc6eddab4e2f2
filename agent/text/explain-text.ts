// SPDX-License-Identifier: Apache-2.0
import { ageText, clean, secondsSince, table, type Paint } from '../../core/text.js'
import type {
  ExplainView,
  GuardView,
  NodeDetail,
  PeerView,
  ProbeView,
  VouchView,
} from '../http/status-view.js'
import { equivocationText, identityText } from './identity-words.js'
import { classColour, headline, looksDead, maintenanceFact, maintenanceNotes } from './headline.js'

const sinceText = (since: string | null, at: string): string =>
  since === null
    ? 'since the agent started'
    : `since ${since} (${ageText(secondsSince(since, at))} ago)`

const probeLine = (node: NodeDetail): string => {
  if (node.isSelf) return 'this is the own node'
  if (node.probe === null) return 'this agent does not probe it; others do'
  const { vote, score, scoreLine, failedRounds, loss, heldSeconds }: ProbeView = node.probe
  const reason = node.probe.reason === '' ? '' : `: ${node.probe.reason}`
  const held = heldSeconds > 0 ? `, is believed in ${ageText(heldSeconds)} if it goes on` : ''
  const failed = failedRounds > 0 ? `, ${failedRounds} failed in a row${reason}` : ''
  if (vote === 'not-looked')
    return `not looked: ${node.probe.reason === '' ? 'the first round is under way' : node.probe.reason}${held}; says neither up nor down`
  return `${vote}, score ${score} (line ${scoreLine}), last round ${ageText(node.probe.lastRoundSeconds)} ago${failed}, loss ${Math.round(loss * 100)} %`
}

const ownWord = (node: NodeDetail, at: string): string => {
  if (node.recordAgeSeconds === null) return 'never heard'
  const cloud =
    node.cloudCutSince === null
      ? 'no trouble with its cloud link'
      : `cloud link cut ${sinceText(node.cloudCutSince, at)}`
  const why = node.kubeletReason === null ? '' : ` (${node.kubeletReason})`
  return `it said ${ageText(node.recordAgeSeconds)} ago: kubelet ${node.kubelet}${why}, ${cloud}`
}

/** Nothing while this node has no identity that is published: then it cannot use the others' ones. */
const signedText = ({ isSigned }: PeerView, { mode, generation }: ExplainView['identity']) => {
  if (mode === 'off' || generation === null) return ''
  if (isSigned) return ', believed only when it signs'
  const so = mode === 'require' ? ', so its votes do not count' : ''
  return `, does not sign${so}`
}

const peerLine = (node: NodeDetail, { keys: own, identity }: ExplainView): string => {
  const { peer } = node
  if (peer === null) return 'this is the own node'
  const trouble = peer.trouble === null ? '' : `: ${peer.trouble}`
  const isOther = peer.keySet !== null && peer.keySet !== own.set
  const keys = isOther ? `, has key set ${peer.keySet}, we have ${own.set ?? 'none'}` : ''
  const replay = peer.dialect.startsWith('superedge') ? ' (can be replayed)' : ''
  const signed = signedText(peer, identity)
  // What worked until now says nothing of a node that most peers cannot reach.
  const state = peer.state === 'ok' && looksDead(node) ? 'worked until it fell silent' : peer.state
  return `${state}, speaks ${peer.dialect}${replay}${signed}, last heard ${ageText(peer.lastHeardSeconds)} ago${keys}${trouble}`
}

const vouchLine = ({ state, since, by, reason }: VouchView, at: string): string => {
  switch (state) {
    case 'active':
      return `by ${by ?? 'its peers'}, ${sinceText(since, at)}: ${reason}`
    case 'off':
      return 'off (--vouch=off)'
    case 'idle':
      return `not needed: ${reason}`
    case 'blocked':
      return `would be, but is not: ${reason}`
  }
}

/** An agent of an earlier version says nothing of keys. */
const keyLines = ({ keyFingerprint }: Partial<NodeDetail>): readonly string[] =>
  keyFingerprint === undefined || keyFingerprint === null ? [] : [`fingerprint ${keyFingerprint}`]

/** Nor about what they proved. */
const identityLines = (
  { identity, keyFingerprint, peer }: Omit<NodeDetail, 'identity'> & Partial<NodeDetail>,
  mode: ExplainView['identity']['mode'],
): readonly string[] => {
  if (identity === undefined || identity === null) return []
  const of = { fingerprint: keyFingerprint, isRequired: mode === 'require' }
  const trouble = equivocationText(identity.equivocations)
  const isNews = identity.equivocations > 0 && peer?.trouble !== trouble
  return [identityText(identity, of), ...(isNews ? [trouble] : [])]
}

const writtenLine = ({ lastWrite }: NodeDetail, at: string): string =>
  lastWrite === null
    ? 'nothing by this agent since it started'
    : `${lastWrite.what}, by ${lastWrite.by} ${ageText(secondsSince(lastWrite.at, at))} ago: ${lastWrite.result}`

const nextLine = ({ nextWrite }: NodeDetail): string => {
  if (nextWrite === null) return 'nothing'
  const { what, by, ownRank, inSeconds } = nextWrite
  const when = inSeconds === null ? 'once no guard holds' : `in ${ageText(inSeconds)}`
  const own = ownRank === null ? 'this agent does not write' : `this agent is number ${ownRank + 1}`
  return `${what}, by ${by} ${when} (${own} in the order of writers)`
}

const voterRows = (node: NodeDetail): readonly (readonly string[])[] =>
  node.voters.map(({ name, says, ageSeconds, counts, why }) => [
    `  ${name}`,
    says,
    ageText(ageSeconds),
    counts ? 'yes' : `no: ${why ?? 'not said'}`,
  ])

/** Some guards' texts already begin with the guard's name. */
const guardText = ({ kind, text }: GuardView): string =>
  text.startsWith(`${kind.replaceAll('-', ' ')}:`) ? text : `${kind}: ${text}`

/** The explanation: the first line says it, the rest shows why. */
export const explainText = (view: ExplainView, paint: Paint): string => {
  const { node, at } = view
  const title = `${node.name} (${node.address}) ${headline(node, view)}.`
  const fact = (name: string, text: string): string => clean(`${name.padEnd(13)}${text}`)
  const guards =
    node.guards.length === 0
      ? [fact('guards', 'none holds')]
      : node.guards.map((guard, index) => fact(index === 0 ? 'guards' : '', guardText(guard)))
  const here =
    node.local === 'up'
      ? 'up: services on this node use it'
      : 'down: services on this node avoid it'
  const { notLooked } = node.votes
  const blind = notLooked > 0 ? `, ${notLooked} could not look` : ''
  const lines = [
    paint(looksDead(node) ? 'red' : classColour[node.class], clean(title)),
    '',
    fact('verdict', `${node.verdict}, class ${node.class}, ${sinceText(node.since, at)}`),
    ...(node.pending === null
      ? []
      : [fact('', `pending ${node.pending}, ${sinceText(node.pendingSince, at)}`)]),
    ...maintenanceNotes(node, maintenanceFact).map(text => fact('maintenance', text)),
    fact('here', `${here} (/localinfo of ${view.self.name})`),
    ...guards,
    fact('own probes', probeLine(node)),
    fact('own record', ownWord(node, at)),
    fact('exchange', peerLine(node, view)),
    ...keyLines(node).map(text => fact('keys', text)),
    ...identityLines(node, view.identity.mode).map((text, index) =>
      fact(index === 0 ? 'identity' : '', text),
    ),
    fact('written', writtenLine(node, at)),
    fact('next write', nextLine(node)),
    fact('vouching', vouchLine(node.vouch, at)),
    '',
    `votes: ${node.votes.down} down and ${node.votes.up} up count${blind}; ${node.votes.needed} of ${view.zone.members} members decide`,
  ]
  const voters = voterRows(node)
  const list =
    voters.length === 0
      ? '  nobody votes on it\n'
      : table([['  VOTER', 'SAYS', 'AGE', 'COUNTS'], ...voters], paint)
  return `${lines.join('\n')}\n${list}`
}

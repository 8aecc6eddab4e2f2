// SPDX-License-Identifier: Apache-2.0
import { ageText } from '../../core/text.js'
import type { NodeIdentity } from '../http/status-view.js'

/** Of a fingerprint, where a line names keys in passing. */
const SHOWN_DIGITS = 4

/** Tenths of a second while they matter. */
const agoText = (seconds: number): string =>
  `${seconds < 10 ? `${seconds.toFixed(1)} s` : ageText(seconds)} ago`

const uncounted = (counts: boolean): string => (counts ? '' : 'not counted: ')

const signedText = ({ signedSeconds, counts }: NodeIdentity, who: string): string => {
  if (signedSeconds === null) return `${uncounted(counts)}nothing heard that ${who} signed`
  return `signed by ${who}, made ${agoText(signedSeconds)}${counts ? '' : ', too old to count'}`
}

/** What the known keys do while the Node shows others; anything else is a state of a later version. */
const changeText = ({ state, silentSeconds, changeAfterSeconds }: NodeIdentity): string => {
  switch (state) {
    case 'changed':
      return `identity changed without its old key, silent for ${Math.round(silentSeconds ?? 0)} of ${changeAfterSeconds ?? 0} s`
    case 'asked':
      return 'identity changed without its old key: the agent there is asked whether it has that'
    case 'disputed':
      return 'identity changed without its old key, but the agent there has that: it stays'
    case 'refused':
      return 'its Node shows an identity that its keys did not sign'
    default:
      return state
  }
}

/** The node whose identity is described. */
interface Described {
  /** Of the keys that are known of it. */
  readonly fingerprint: string | null
  /** `--identity=require`. */
  readonly isRequired: boolean
}

/** How what a node says is proved, or why it does not count, in one line. */
export const identityText = (
  identity: NodeIdentity,
  { fingerprint, isRequired }: Described,
): string => {
  const { state, counts } = identity
  const who = fingerprint === null ? 'its keys' : `identity ${fingerprint.slice(0, SHOWN_DIGITS)}…`
  if (state === 'signed') return signedText(identity, who)
  if (state !== 'unsigned') return `${uncounted(counts)}${changeText(identity)}`
  return isRequired ? `${uncounted(counts)}no identity` : "no identity, believed by the zone's key"
}

/** What is wrong with what a node signed. */
export const equivocationText = (equivocations: number): string =>
  `signed different statements for one time (${equivocations}): its keys are on two machines, or it lies`

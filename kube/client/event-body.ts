// SPDX-License-Identifier: Apache-2.0
import { microTime } from './micro-time.js'
import type { ResourceType } from './resource.js'
import type { ObjectBody } from './write.js'

/** What an Event is about. */
export interface ObjectReference {
  readonly apiVersion: string
  readonly kind: string
  /** Undefined for a cluster-wide object. */
  readonly namespace?: string | undefined
  readonly name: string
  readonly uid: string
}

/** An Event, in the words of events.k8s.io/v1. */
export interface EventFacts {
  readonly regarding: ObjectReference
  readonly type: 'Normal' | 'Warning'
  /** CamelCase, for machines: `NameTaken`. */
  readonly reason: string
  /** What was done, or tried. */
  readonly action: string
  /** In words; cut to 1024 bytes. */
  readonly note: string
  readonly reportingController: string
  readonly reportingInstance: string
}

/** The namespace of Events about cluster-wide objects. */
const NAMESPACE = 'default'
const MAX_NOTE_BYTES = 1_024
const MAX_WORD = 128

/** Cut to the API's limit, which counts bytes; never inside a character. */
export const cutNote = (note: string): string => {
  const bytes = Buffer.from(note)
  if (bytes.length <= MAX_NOTE_BYTES) return note
  let end = MAX_NOTE_BYTES - Buffer.byteLength('…')
  while ((bytes[end]! & 0xc0) === 0x80) end--
  return `${bytes.subarray(0, end).toString('utf8')}…`
}

/** As client-go makes them: the object's name and something unique. The API takes no `generateName` that ends in a dot. */
const eventName = (name: string, unique: bigint): string =>
  `${name.slice(0, 236).replace(/[.-]+$/, '')}.${unique.toString(16).padStart(16, '0')}`

export const EVENTS: ResourceType<void> = {
  group: 'events.k8s.io',
  version: 'v1',
  resource: 'events',
  parse: () => undefined,
}

/** An Event as it is sent. */
export interface EventBody extends ObjectBody {
  readonly metadata: { readonly name: string; readonly namespace: string }
}

/** @param wall epoch ms @param unique makes its name */
export const eventBody = (facts: EventFacts, wall: number, unique: bigint): EventBody => {
  const { regarding, note, reason, action, reportingInstance, ...rest } = facts
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: {
      name: eventName(regarding.name, unique),
      namespace: regarding.namespace ?? NAMESPACE,
    },
    // A MicroTime: six digits.
    eventTime: microTime(wall),
    ...rest,
    action: action.slice(0, MAX_WORD),
    reason: reason.slice(0, MAX_WORD),
    reportingInstance: reportingInstance.slice(0, MAX_WORD),
    regarding,
    note: cutNote(note),
  }
}

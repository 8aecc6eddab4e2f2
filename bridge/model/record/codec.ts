// SPDX-License-Identifier: Apache-2.0
import type { DownstreamType } from '../route/downstream.js'
import type { EdgeRecord, Held } from './held.js'

/** The first line: identifies the format. */
const HEADER = 'edge-health bridge record 1'

/**
 * A ConfigMap holds 1 MiB; the rest is left for its metadata. An object takes about 75 bytes, so 13 000 fit, more than the
 * 110 pods of a kubelet ever refer to.
 */
const MAX_LENGTH = 960 * 1024

/**
 * In this order of importance: a pod missing from the record is never stopped, while a leftover ConfigMap only takes space.
 */
const LETTERS: Readonly<Record<DownstreamType, string>> = {
  node: 'n',
  pod: 'p',
  secret: 's',
  configmap: 'c',
}
const TYPES: ReadonlyMap<string, DownstreamType> = new Map(
  (Object.keys(LETTERS) as DownstreamType[]).map(type => [LETTERS[type], type]),
)

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const SHORT_UUID = /^[\w-]{22}$/
/** Prefix of text that is encoded in base64 because it has characters that the format uses. */
const LONG = '~'
const PLAIN = /^\d+$/

const escaped = (text: string): string => LONG + Buffer.from(text).toString('base64url')
const unescaped = (text: string): string =>
  Buffer.from(text.slice(LONG.length), 'base64url').toString()

const shortUid = (uid: string): string =>
  UUID.test(uid) ? Buffer.from(uid.replaceAll('-', ''), 'hex').toString('base64url') : escaped(uid)

const fullUid = (text: string): string | undefined => {
  if (text.startsWith(LONG)) return unescaped(text)
  if (!SHORT_UUID.test(text)) return undefined
  const hex = Buffer.from(text, 'base64url').toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const lineOf = (uid: string, { type, namespace, name, version, print }: Held): string =>
  [
    LETTERS[type],
    shortUid(uid),
    namespace,
    name,
    PLAIN.test(version) ? version : escaped(version),
    print,
  ].join(' ')

/** A record as text, and how many objects did not fit. */
export interface EncodedRecord {
  readonly text: string
  readonly left: number
}

/** Encodes a record, one line per object. What does not fit is left out, ConfigMaps first. */
export const encodeRecord = (record: EdgeRecord, maxLength = MAX_LENGTH): EncodedRecord => {
  const all = [...record]
  const entries = Object.keys(LETTERS).flatMap(type => all.filter(([, held]) => held.type === type))
  const lines = [HEADER]
  let length = HEADER.length + 1
  for (const [uid, held] of entries) {
    const line = lineOf(uid, held)
    // A long line leaves out only its own object.
    if (length + line.length + 1 > maxLength) continue
    length += line.length + 1
    lines.push(line)
  }
  return { text: `${lines.join('\n')}\n`, left: entries.length - (lines.length - 1) }
}

/** Letter, uid, namespace, name, version, print. */
const LINE = /^(\w) ([\w~-]+) ([-a-z0-9]*) ([-.a-z0-9]+) (\d+|~[\w-]*) ([\w-]*)$/

const parseLine = (line: string): readonly [string, Held] | undefined => {
  const [, letter = '', short = '', namespace = '', name = '', word = '', print = ''] =
    LINE.exec(line) ?? []
  const type = TYPES.get(letter)
  const uid = fullUid(short)
  if (type === undefined || uid === undefined) return undefined
  const version = word.startsWith(LONG) ? unescaped(word) : word
  return [uid, { type, namespace, name, version, print }]
}

/** A decoded record, and how many lines could not be read. */
export interface DecodedRecord {
  readonly record: EdgeRecord
  readonly unread: number
}

/**
 * Decodes a record. An unreadable line loses only its object, which is then sent again; a text in another format has no
 * objects.
 */
export const decodeRecord = (text: string): DecodedRecord => {
  const record = new Map<string, Held>()
  const [header, ...lines] = text.slice(0, MAX_LENGTH).split('\n')
  if (header !== HEADER) return { record, unread: text === '' ? 0 : 1 }
  let unread = 0
  for (const line of lines.filter(line => line !== '')) {
    const entry = parseLine(line)
    if (entry === undefined) unread++
    else record.set(...entry)
  }
  return { record, unread }
}

// SPDX-License-Identifier: Apache-2.0
import { ByteReader, writeVarint } from '../../core/varint.js'
import { FLAG } from '../../vote/evidence.js'
import { SIGNATURE_BYTES, type Verifier } from './node-keys.js'
import { LINK_BYTES } from './link-chain.js'

/** A quarter of a second: the unit of all times in the exchange. */
export const QUARTER_MS = 250

/** `--link-slot` in quarters of a second. */
export const slotOf = (linkSlotMs: number): number => Math.round(linkSlotMs / QUARTER_MS)

/**
 * What a node says, signed as a whole and passed on byte for byte. It names nodes by id, so that it can be read with any
 * roster. Times are of the signing node's clock and are compared with no other clock's.
 */
export interface Statement {
  /** Which keys sign it, 1 to 65 535. */
  readonly generation: number
  /** 1 to 2^32 − 1; one more after each start and each suspension of the node. */
  readonly epoch: number
  /** When it was made, in quarters of a second since 1970, below 2^48; larger than all earlier ones of its epoch. */
  readonly time: number
  /** How long each link of its chain stands for, in quarters: 2 to 32. */
  readonly slot: number
  /** The chain has 2^n links: 0 to 11. */
  readonly logLinks: number
  /** Link 0 of the chain, `LINK_DIGITS`. */
  readonly anchor: string
  /** `FLAG` bits. */
  readonly flags: number
  /** With `FLAG.cloudCut`: quarters before `time` since when the apiserver is out of reach, below 2^35; else 0. */
  readonly cutFor: number
  /** Hash of roster and topology. With the same hash, a reader knows which nodes it observes: those not named are up. */
  readonly membershipHash: bigint
  /**
   * Heartbeat of the node's record at `time`, 1 to 2^32 − 1; one more for each second after that. So an agent that passes
   * the record on to one without identities gives it the same number as the node itself.
   */
  readonly heartbeat: number
  /** Ids of nodes that are down, ascending. */
  readonly down: readonly bigint[]
  /** Ids of nodes that it should observe and has not probed, ascending. */
  readonly notLooked: readonly bigint[]
  /** Ids of nodes that it observes as a backup observer, ascending. */
  readonly standsInFor: readonly bigint[]
}

/** Order of one node's statements: positive when `a` is the newer one, which replaces the older. */
export const compareStatements = (
  a: Pick<Statement, 'epoch' | 'time'>,
  b: Pick<Statement, 'epoch' | 'time'>,
): number => a.epoch - b.epoch || a.time - b.time

/** Quarters in a second. */
const PER_SECOND = 4

/** The heartbeat of a node this many quarters after its statement. */
export const heartbeatAt = ({ heartbeat }: Statement, quarters: number): number =>
  heartbeat + Math.floor(quarters / PER_SECOND)

const VERSION = 1
const HEARTBEAT_AT = 4 + 2 + 4 + 6 + LINK_BYTES + 8
const HEAD_BYTES = HEARTBEAT_AT + 4
const MIN_SLOT = 2
const MAX_SLOT = 32
const MAX_LOG_LINKS = 11
/** Members that one list may name: more than a zone has, and few enough for one message. */
const MAX_NAMED = 4_096
const FLAG_MASK = Object.values(FLAG).reduce((mask, bit) => mask | bit, 0)

const LABEL = Buffer.from('edge-health statement 1\0')

/** Bytes of a statement with its signature. */
export const statementBytes = (s: Statement): number =>
  HEAD_BYTES +
  5 +
  3 * 5 +
  8 * (s.down.length + s.notLooked.length + s.standsInFor.length) +
  SIGNATURE_BYTES

const writeIds = (out: Buffer, start: number, ids: readonly bigint[]): number => {
  let at = writeVarint(out, start, ids.length)
  for (const id of ids) at = out.writeBigUInt64LE(id, at)
  return at
}

const encodeContent = (s: Statement): Buffer => {
  const out = Buffer.alloc(statementBytes(s))
  out[0] = VERSION
  out[1] = s.flags
  out[2] = s.slot
  out[3] = s.logLinks
  out.writeUInt16LE(s.generation, 4)
  out.writeUInt32LE(s.epoch, 6)
  out.writeUIntLE(s.time, 10, 6)
  out.write(s.anchor, 16, 'hex')
  out.writeBigUInt64LE(s.membershipHash, 16 + LINK_BYTES)
  out.writeUInt32LE(s.heartbeat, HEARTBEAT_AT)
  let at = HEAD_BYTES
  if ((s.flags & FLAG.cloudCut) !== 0) at = writeVarint(out, at, s.cutFor)
  for (const ids of [s.down, s.notLooked, s.standsInFor]) at = writeIds(out, at, ids)
  return out.subarray(0, at)
}

/** What is signed. Zone and node are part of it, so that a statement counts for no other zone or node. */
const signedBytes = (origin: Origin, content: Uint8Array): Buffer => {
  const head = Buffer.alloc(16)
  head.writeBigUInt64LE(origin.zoneHash, 0)
  head.writeBigUInt64LE(origin.id, 8)
  return Buffer.concat([LABEL, head, content])
}

/** The node that signs, and its zone. */
export interface Origin {
  readonly zoneHash: bigint
  /** `id64` of the node's name. */
  readonly id: bigint
}

/** The statement as it is sent, with its signature. */
export const sealStatement = (
  statement: Statement,
  origin: Origin,
  sign: (bytes: Uint8Array) => Buffer,
): Buffer => {
  const content = encodeContent(statement)
  return Buffer.concat([content, sign(signedBytes(origin, content))])
}

/** Undefined unless ascending without repeats, the one allowed form of a list, and short enough. */
const readIds = (reader: ByteReader, bytes: Buffer): bigint[] | undefined => {
  const count = reader.varint()
  if (count < 0 || count > MAX_NAMED) return undefined
  const start = reader.skip(8 * count)
  if (start < 0) return undefined
  const ids: bigint[] = []
  for (let i = 0; i < count; i++) {
    const id = bytes.readBigUInt64LE(start + 8 * i)
    if (i > 0 && id <= ids[i - 1]!) return undefined
    ids.push(id)
  }
  return ids
}

const readHead = (bytes: Buffer): Omit<Statement, Lists | 'cutFor'> | undefined => {
  const [version, flags, slot, logLinks] = [bytes[0]!, bytes[1]!, bytes[2]!, bytes[3]!]
  const generation = bytes.readUInt16LE(4)
  const epoch = bytes.readUInt32LE(6)
  const heartbeat = bytes.readUInt32LE(HEARTBEAT_AT)
  const isGood =
    version === VERSION &&
    (flags & ~FLAG_MASK) === 0 &&
    slot >= MIN_SLOT &&
    slot <= MAX_SLOT &&
    logLinks <= MAX_LOG_LINKS &&
    generation > 0 &&
    epoch > 0 &&
    heartbeat > 0
  if (!isGood) return undefined
  return {
    ...{ flags, slot, logLinks, generation, epoch, heartbeat },
    time: bytes.readUIntLE(10, 6),
    anchor: bytes.toString('hex', 16, 16 + LINK_BYTES),
    membershipHash: bytes.readBigUInt64LE(16 + LINK_BYTES),
  }
}

type Lists = 'down' | 'notLooked' | 'standsInFor'

const readLists = (reader: ByteReader, bytes: Buffer): Pick<Statement, Lists> | undefined => {
  const down = readIds(reader, bytes)
  const notLooked = down && readIds(reader, bytes)
  const standsInFor = notLooked && readIds(reader, bytes)
  return standsInFor && { down, notLooked, standsInFor }
}

/** `cutFor`; −1 when malformed. */
const readCut = (reader: ByteReader, flags: number): number =>
  (flags & FLAG.cloudCut) === 0 ? 0 : reader.varint()

/** A well-formed statement whose signature is not verified yet: see `isSignedBy`. */
export interface ReceivedStatement {
  readonly statement: Statement
  /** A copy of the bytes as received, to be passed on. */
  readonly bytes: Buffer
}

/** Undefined when malformed, also when bytes are left over. Never throws. */
export const parseStatement = (bytes: Uint8Array): ReceivedStatement | undefined => {
  const end = bytes.length - SIGNATURE_BYTES
  if (end < HEAD_BYTES) return undefined
  // Not from Node.js's buffer pool: the copy would keep the whole 8 KiB pool alive.
  const own = Buffer.allocUnsafeSlow(bytes.length)
  own.set(bytes)
  const head = readHead(own)
  if (head === undefined) return undefined
  const reader = new ByteReader(own.subarray(0, end))
  reader.skip(HEAD_BYTES)
  const cutFor = readCut(reader, head.flags)
  if (cutFor < 0) return undefined
  const lists = readLists(reader, own)
  if (lists === undefined || !reader.isAtEnd) return undefined
  return { statement: { ...head, cutFor, ...lists }, bytes: own }
}

/** Whether the node signed it for this zone. Takes some 110 µs. */
export const isSignedBy = (
  { bytes }: ReceivedStatement,
  origin: Origin,
  verify: Verifier,
): boolean => {
  const end = bytes.length - SIGNATURE_BYTES
  return verify(signedBytes(origin, bytes.subarray(0, end)), bytes.subarray(end))
}

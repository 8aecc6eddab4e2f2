// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'

/** The bits of a TCP segment's flags that are looked at. */
export const FLAG = { fin: 1, syn: 2, rst: 4, ack: 16 } as const

/** One end of a packet's way. */
export interface Place {
  readonly address: string
  /** 0 when it is not TCP. */
  readonly port: number
}

/** An IP packet as an interface showed it. What is not TCP has flags and numbers of 0. */
export interface Packet {
  /** Epoch ms, with fractions. */
  readonly at: number
  readonly from: Place
  readonly to: Place
  readonly flags: number
  readonly seq: number
  readonly ack: number
  /** Of the whole IP packet, headers included. */
  readonly bytes: number
  /** What TCP carries of it. */
  readonly payload: number
  /** The payload's first bytes: at least five where there are so many. */
  readonly head: Buffer
}

/** Read a line of the meter's program. @throws InvalidInputError */
export const parsePacket = (line: string): Packet => {
  const fields = line.split(' ')
  const [at = '', from = '', , to = '', , , , , , , head = ''] = fields
  const numbers = [0, 2, 4, 5, 6, 7, 8, 9].map(i => fields[i] ?? '')
  if (fields.length !== 11 || !numbers.every(text => /^\d+$/.test(text)))
    throw new InvalidInputError('a packet', 'is a line of 11 fields', line)
  const [, fromPort, toPort, flags, seq, ack, bytes, payload] = numbers.map(Number)
  return {
    at: Number(BigInt(at) / 1_000n) / 1_000,
    from: { address: from, port: fromPort! },
    to: { address: to, port: toPort! },
    ...{ flags: flags!, seq: seq!, ack: ack!, bytes: bytes!, payload: payload! },
    head: head === '-' ? Buffer.alloc(0) : Buffer.from(head, 'hex'),
  }
}

// SPDX-License-Identifier: Apache-2.0

/** Whether a bit of the row that begins at byte `start` is set. Lowest bit first. */
export const isSet = (rows: Uint8Array, start: number, slot: number): boolean =>
  ((rows[start + (slot >> 3)]! >> (slot & 7)) & 1) === 1

export const setBit = (row: Uint8Array, slot: number): void => {
  row[slot >> 3]! |= 1 << (slot & 7)
}

/** @returns 1 when the bit is set now, −1 when it is not. */
export const flipBit = (rows: Uint8Array, start: number, slot: number): 1 | -1 => {
  rows[start + (slot >> 3)]! ^= 1 << (slot & 7)
  return isSet(rows, start, slot) ? 1 : -1
}

/** The slots of the bits that are set in `bits`, which is byte number `byte` of a row. */
export const eachBit = (bits: number, byte: number, act: (slot: number) => void): void => {
  for (let left = bits; left !== 0; left &= left - 1)
    act(byte * 8 + (31 - Math.clz32(left & -left)))
}

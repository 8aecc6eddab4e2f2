// SPDX-License-Identifier: Apache-2.0

/** One file of an archive. */
export interface TarFile {
  /** At most 100 bytes, with slashes. */
  readonly path: string
  readonly text: string
}

const BLOCK = 512

const octal = (value: number, width: number): string =>
  `${value.toString(8).padStart(width - 1, '0')}\0`

/** A header of ustar (POSIX.1-1988): a plain file that only its owner may read. */
const headerOf = (path: string, size: number, second: number): Buffer => {
  const header = Buffer.alloc(BLOCK)
  const put = (text: string, at: number): void => void header.write(text, at, 'latin1')
  put(path, 0)
  put(octal(0o600, 8), 100)
  put(octal(0, 8), 108)
  put(octal(0, 8), 116)
  put(octal(size, 12), 124)
  put(octal(second, 12), 136)
  put(' '.repeat(8), 148)
  put('0', 156)
  put('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  put(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

/** @param wall epoch ms of all files */
export const tarOf = (files: readonly TarFile[], wall: number): Buffer => {
  const second = Math.floor(wall / 1_000)
  const parts = files.flatMap(({ path, text }) => {
    const body = Buffer.from(text)
    const rest = (BLOCK - (body.length % BLOCK)) % BLOCK
    return [headerOf(path, body.length, second), body, Buffer.alloc(rest)]
  })
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)])
}

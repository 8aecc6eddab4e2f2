// SPDX-License-Identifier: Apache-2.0

/** A time as the API's MicroTime wants it: six digits of a second. @param wall epoch ms */
export const microTime = (wall: number): string => new Date(wall).toISOString().replace('Z', '000Z')

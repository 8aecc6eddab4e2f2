// SPDX-License-Identifier: Apache-2.0

/**
 * All members of a union of strings: `allOf<'up' | 'down'>({ up: true, down: true })`. Unlike with a list, the compiler refuses a
 * call that leaves one out.
 */
export const allOf = <Union extends string>(
  members: Readonly<Record<NoInfer<Union>, true>>,
): readonly Union[] => Object.keys(members) as Union[]

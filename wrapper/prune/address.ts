// SPDX-License-Identifier: Apache-2.0

const BYTE = '(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const IPV4 = new RegExp(`^${BYTE}(\\.${BYTE}){3}$`)
const GROUP = /^[0-9a-fA-F]{1,4}$/
const GROUPS = 8

/**
 * How many 16-bit groups the text has; undefined when it is not a sequence of them. An IPv4 address at the end
 * counts as two.
 */
const countGroups = (text: string, mayEndInV4: boolean): number | undefined => {
  if (text === '') return 0
  const parts = text.split(':')
  const endsInV4 = mayEndInV4 && IPV4.test(parts.at(-1)!)
  if (endsInV4) parts.pop()
  return parts.every(part => GROUP.test(part)) ? parts.length + (endsInV4 ? 2 : 0) : undefined
}

const isIPv6 = (text: string): boolean => {
  const [head = '', tail, ...more] = text.split('::')
  if (more.length > 0) return false
  if (tail === undefined) return countGroups(head, true) === GROUPS
  const [before, after] = [countGroups(head, false), countGroups(tail, true)]
  return before !== undefined && after !== undefined && before + after < GROUPS
}

/** Whether the text is an IP address, without a zone index. */
export const isAddress = (text: string): boolean => IPV4.test(text) || isIPv6(text)

// SPDX-License-Identifier: Apache-2.0

/** A subdomain of RFC 1123, as names of most objects are. Its length is to be checked besides. */
export const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

const MAX_PREFIX = 253
const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/

/**
 * Whether this text is a valid key of a Kubernetes label: a name of at most 63 characters, with or without a subdomain and a
 * slash. Label selectors are refused for a key that is none.
 */
export const isLabelKey = (text: string): boolean => {
  const slash = text.indexOf('/')
  if (slash === -1) return NAME.test(text)
  const prefix = text.slice(0, slash)
  return prefix.length <= MAX_PREFIX && SUBDOMAIN.test(prefix) && NAME.test(text.slice(slash + 1))
}

/** Whether this text is a valid value of a Kubernetes label; the empty text is. */
export const isLabelValue = (text: string): boolean => text === '' || NAME.test(text)

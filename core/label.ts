// SPDX-License-Identifier: Apache-2.0

const MAX_PREFIX = 253
const PREFIX = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/
const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/

/** Is this text the key of a Kubernetes label: a name of at most 63 characters, with or without a domain and a slash? */
export const isLabelKey = (text: string): boolean => {
  const slash = text.indexOf('/')
  if (slash === -1) return NAME.test(text)
  const prefix = text.slice(0, slash)
  return prefix.length <= MAX_PREFIX && PREFIX.test(prefix) && NAME.test(text.slice(slash + 1))
}

/** Is this text the value of a Kubernetes label? The empty one is. */
export const isLabelValue = (text: string): boolean => text === '' || NAME.test(text)

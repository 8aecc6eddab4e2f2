// SPDX-License-Identifier: Apache-2.0

const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }

/**
 * A set of child processes that end with this one: on one of these signals they get SIGTERM, and this process exits with the
 * code that shells use. Whoever starts a child adds it, and deletes it when it has ended.
 */
export const childrenUntil = (...signals) => {
  const children = new Set()
  for (const signal of signals)
    process.once(signal, () => {
      for (const child of children) child.kill('SIGTERM')
      process.exit(CODES[signal])
    })
  return children
}

// SPDX-License-Identifier: Apache-2.0

/** `warn`: it works for now, or it could not be checked. */
export type Level = 'ok' | 'warn' | 'fail'

/** The result of one check. */
export interface Finding {
  readonly check: string
  readonly level: Level
  /** What was found, in words. */
  readonly saw: string
  /** What to do; null where there is nothing to do. */
  readonly fix: string | null
}

/** Nothing to do. */
export const ok = (check: string, saw: string): Finding => ({ check, level: 'ok', saw, fix: null })
export const warn = (check: string, saw: string, fix: string): Finding => ({ check, level: 'warn', saw, fix }) // prettier-ignore
export const fail = (check: string, saw: string, fix: string): Finding => ({ check, level: 'fail', saw, fix }) // prettier-ignore

// SPDX-License-Identifier: Apache-2.0

/** Fields of a log message. Never a key, a token or a body. */
export type Fields = Readonly<Record<string, unknown>>

/** Events with fields. Log changes, not every round. */
export interface Logger {
  debug(message: string, fields?: Fields): void
  info(message: string, fields?: Fields): void
  warn(message: string, fields?: Fields): void
  error(message: string, fields?: Fields): void
}

const nothing = (): undefined => undefined

/** Logs nothing; for programs that print to a person directly. */
export const silentLog: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

// SPDX-License-Identifier: Apache-2.0
import type { Fields, Logger } from '../core/log.js'

interface LogLine {
  readonly level: keyof Logger
  readonly message: string
  readonly fields: Fields
}

/** A logger whose lines a test can read. */
export const recordingLog = (): Logger & { readonly lines: LogLine[] } => {
  const lines: LogLine[] = []
  const at =
    (level: keyof Logger) =>
    (message: string, fields: Fields = {}): void => {
      lines.push({ level, message, fields })
    }
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

// SPDX-License-Identifier: Apache-2.0
import type { Fields, Logger } from '../core/log.js'

interface LogLine {
  readonly level: keyof Logger
  readonly message: string
  readonly fields: Fields
}

/**
 * A logger whose lines a test can read.
 * @param own fields that the real logger puts on each line itself: to give one of them throws
 */
export const recordingLog = (
  own: readonly string[] = [],
): Logger & { readonly lines: LogLine[] } => {
  const lines: LogLine[] = []
  const at =
    (level: keyof Logger) =>
    (message: string, fields: Fields = {}): void => {
      const twice = own.find(field => field in fields)
      if (twice !== undefined)
        throw new Error(`the logger itself writes the field ${twice}: ${message}`)
      lines.push({ level, message, fields })
    }
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

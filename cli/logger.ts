// SPDX-License-Identifier: Apache-2.0
import { pino } from 'pino'
import { systemClock } from '../core/clock.js'
import { reasonOf } from '../core/errors.js'
import type { Fields, Logger } from '../core/log.js'
import { limitBugs } from '../core/rare-log.js'
import { levelOfVerbosity } from '../options/sources.js'
import type { Output } from './cli-context.js'

/** A logger whose level can be changed while it runs. */
export interface LevelledLogger extends Logger {
  /** klog's verbosity: 4 and above is `debug`; below, the level that was given at the start. */
  readonly setVerbosity: (verbosity: number) => void
}

const flat = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      value instanceof Error ? reasonOf(value) : typeof value === 'bigint' ? String(value) : value,
    ]),
  )

/** Who logs, and how much. */
export interface LoggerOptions {
  /** The node that the program runs for; undefined for a program for a whole cluster, whose logs have its name instead. */
  readonly nodeName?: string
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}

/** JSON lines: `{"level":"warn","time":"…","node":"…","msg":"…",…}`, or with `program` for `node`. */
export const makeLogger = (
  { nodeName, logLevel }: LoggerOptions,
  program: string,
  output: Output,
): LevelledLogger => {
  const log = pino(
    {
      level: logLevel,
      base: nodeName === undefined ? { program } : { node: nodeName },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
    },
    {
      write: line => {
        output.write(line)
      },
    },
  )
  const all: Logger = {
    debug: (message, fields = {}) => log.debug(flat(fields), message),
    info: (message, fields = {}) => log.info(flat(fields), message),
    warn: (message, fields = {}) => log.warn(flat(fields), message),
    error: (message, fields = {}) => log.error(flat(fields), message),
  }
  return {
    ...limitBugs(all, systemClock),
    setVerbosity: verbosity => {
      log.level = levelOfVerbosity(verbosity) === 'debug' ? 'debug' : logLevel
    },
  }
}

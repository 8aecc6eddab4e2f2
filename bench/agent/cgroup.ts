// SPDX-License-Identifier: Apache-2.0
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The limits of the DaemonSet: 50m CPU, 100Mi. */
const CPU_MICROSECONDS = 5_000
const PERIOD_MICROSECONDS = 100_000
const MEMORY_BYTES = 100 * 1_024 * 1_024

/** A cgroup with the DaemonSet's limits. */
export interface Cgroup {
  /** Runs what follows it inside. */
  readonly command: readonly string[]
  remove(): void
}

const ROOT = '/sys/fs/cgroup'

/** Version 2 where both controllers are there, else version 1. */
const folders = (name: string): readonly string[] => {
  const controllers = join(ROOT, 'cgroup.controllers')
  const isV2 =
    existsSync(controllers) && /\bcpu\b.*\bmemory\b/.test(readFileSync(controllers, 'utf8'))
  return isV2 ? [join(ROOT, name)] : [join(ROOT, 'cpu', name), join(ROOT, 'memory', name)]
}

const LIMITS: readonly (readonly [file: string, value: string])[] = [
  ['cpu.max', `${CPU_MICROSECONDS} ${PERIOD_MICROSECONDS}`],
  ['cpu.cfs_period_us', String(PERIOD_MICROSECONDS)],
  ['cpu.cfs_quota_us', String(CPU_MICROSECONDS)],
  ['memory.max', String(MEMORY_BYTES)],
  ['memory.limit_in_bytes', String(MEMORY_BYTES)],
]

/** @throws Error that says what stands in the way. */
export const makeCgroup = (): Cgroup => {
  const made = folders(`edge-health-bench-${process.pid}`)
  const remove = (): void => {
    for (const folder of made) if (existsSync(folder)) rmdirSync(folder)
  }
  try {
    for (const folder of made) mkdirSync(folder)
    let limits = 0
    for (const folder of made)
      for (const [file, value] of LIMITS) {
        if (!existsSync(join(folder, file))) continue
        writeFileSync(join(folder, file), value)
        limits++
      }
    if (limits < 2) throw new Error('no limit of CPU and memory could be set')
  } catch (cause) {
    remove()
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`no cgroup can be made here (root is needed): ${reason}`, { cause })
  }
  const enter = made.map(folder => `echo $$ > ${join(folder, 'cgroup.procs')}`).join(' && ')
  return { command: ['sh', '-c', `${enter} && exec "$@"`, 'sh'], remove }
}

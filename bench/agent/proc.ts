// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** `USER_HZ`: 100 on every Linux that Node runs on. */
const TICK_MS = 10

const read = (path: string): string => readFileSync(path, 'utf8')

/** User and system time of a process so far. */
export const cpuMs = (pid: number): number => {
  const fields = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

/** How long its threads were ready to run and had to wait. */
export const waitedMs = (pid: number): number => {
  let ns = 0
  for (const task of readdirSync(`/proc/${pid}/task`))
    ns += Number(read(`/proc/${pid}/task/${task}/schedstat`).split(' ')[1])
  return ns / 1e6
}

/** How often its threads slept and were woken. */
export const wakeups = (pid: number): number => {
  let count = 0
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const status = read(`/proc/${pid}/task/${task}/status`)
    count += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1])
  }
  return count
}

export interface Memory {
  readonly rssMiB: number
  readonly pssMiB: number
  readonly anonMiB: number
  readonly peakMiB: number
}

export const memoryOf = (pid: number): Memory => {
  const status = read(`/proc/${pid}/status`)
  const rollup = read(`/proc/${pid}/smaps_rollup`)
  const mib = (text: string, name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1_024
  return {
    rssMiB: mib(status, 'VmRSS'),
    pssMiB: mib(rollup, 'Pss'),
    anonMiB: mib(status, 'RssAnon'),
    peakMiB: mib(status, 'VmHWM'),
  }
}

export interface Handles {
  readonly fds: number
  readonly sockets: number
}

export const handlesOf = (pid: number): Handles => {
  const fds = readdirSync(`/proc/${pid}/fd`)
  return { fds: fds.length, sockets: socketInodes(pid, fds) }
}

const linkOf = (path: string): string => {
  try {
    return readlinkSync(path)
  } catch {
    return '' // Closed while we looked.
  }
}

const socketInodes = (pid: number, fds: readonly string[]): number => {
  const table = new Set(
    ['tcp', 'tcp6'].flatMap(name =>
      read(`/proc/${pid}/net/${name}`)
        .split('\n')
        .slice(1)
        .map(line => line.trim().split(/\s+/)[9] ?? ''),
    ),
  )
  let count = 0
  for (const fd of fds) {
    const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1]
    if (inode !== undefined && table.has(inode)) count++
  }
  return count
}

/** What ran on one core since the machine started, by whether it was told to be nice. */
export const coreMs = (core: number): { readonly busy: number; readonly nice: number } => {
  const line = new RegExp(`^cpu${core} (.*)$`, 'm').exec(read('/proc/stat'))?.[1] ?? ''
  const [user = 0, nice = 0, system = 0] = line.split(' ').map(Number)
  return { busy: (user + system) * TICK_MS, nice: nice * TICK_MS }
}

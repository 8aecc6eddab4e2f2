// SPDX-License-Identifier: Apache-2.0
// CPU limits as a container runtime sets them: a control group of either version.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PERIOD_US = 100_000
const ROOT = '/sys/fs/cgroup'

/** Version 1 has a tree of its own for the CPU. */
const v1 = (): string | undefined =>
  [join(ROOT, 'cpu'), join(ROOT, 'cpu,cpuacct')].find(tree =>
    existsSync(join(tree, 'cpu.cfs_quota_us')),
  )

const setLimit = (group: string, percent: number): void => {
  const quotaUs = Math.round((PERIOD_US * percent) / 100)
  if (existsSync(join(group, 'cpu.max')))
    writeFileSync(join(group, 'cpu.max'), `${quotaUs} ${PERIOD_US}`)
  else writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quotaUs))
}

/** A group of the CPU controller for one process; the machine's rights decide whether it can be made. */
export class CpuGroup {
  readonly #tree: string
  readonly #group: string

  /** @param name must be this lab's alone. */
  constructor(name: string) {
    this.#tree = v1() ?? ROOT
    this.#group = join(this.#tree, name)
  }

  /** All threads of the process share this much of one core. @throws Error where control groups cannot be made. */
  limit(pid: number, percent: number): void {
    try {
      mkdirSync(this.#group, { recursive: true })
      setLimit(this.#group, percent)
      writeFileSync(join(this.#group, 'cgroup.procs'), String(pid))
    } catch (cause) {
      throw new Error(
        `cannot limit the CPU: ${this.#group} must be a control group with the cpu controller; run the lab as root`,
        { cause },
      )
    }
  }

  /** The process, if it still runs, gets what it wants; the group is gone. */
  release(): void {
    if (!existsSync(this.#group)) return
    for (const pid of readFileSync(join(this.#group, 'cgroup.procs'), 'utf8').split('\n'))
      if (pid !== '') writeFileSync(join(this.#tree, 'cgroup.procs'), pid)
    rmdirSync(this.#group)
  }
}

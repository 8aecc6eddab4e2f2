// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import { Child, type Ended, type Program } from './child.js'

/** The two processes of a node: its kubelet and its agent. */
export class NodeProcesses {
  /** Last action on the processes. */
  state: 'running' | 'killed' | 'frozen' = 'running'
  isCut = false
  protected agent: Child | undefined
  protected kubelet: Child | undefined

  async kill(): Promise<void> {
    this.state = 'killed'
    await Promise.all([this.agent?.kill(), this.kubelet?.kill()])
  }

  freeze(): void {
    this.state = 'frozen'
    this.agent?.freeze()
    this.kubelet?.freeze()
  }

  thaw(): void {
    this.state = 'running'
    this.agent?.thaw()
    this.kubelet?.thaw()
  }

  /** Ends the agent with SIGTERM, and with SIGKILL if it takes too long. */
  protected async endAgent(clock: Clock): Promise<void> {
    await this.agent?.stop(clock)
  }

  /** The last lines of its agent. */
  agentLines(count: number): readonly string[] {
    return this.agent?.lastLines(count) ?? []
  }
}

/** Starts a process, and reports when it ends though nobody ended it. */
export const startChild = (
  program: Program,
  onCrash: (ended: Ended, lastLines: readonly string[]) => void,
): Child => {
  const child = new Child(program)
  void child.ended.then(ended => {
    if (ended.isCrash) onCrash(ended, child.lastLines(10))
  })
  return child
}

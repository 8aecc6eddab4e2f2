// SPDX-License-Identifier: Apache-2.0
import { spawn } from 'node:child_process'
import { clearTimeout, setTimeout } from 'node:timers'

const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }

/** Programs that end with this process, each with all that it started: tap passes no signal on to its tests. */
export const makeChildren = () => {
  const children = new Set()
  const end = ({ pid }) => {
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGTERM')
    } catch (error) {
      if (error.code !== 'ESRCH') throw error
    }
  }
  for (const [signal, code] of Object.entries(CODES))
    process.once(signal, () => {
      for (const child of children) end(child)
      process.exit(code)
    })
  return {
    /** As `spawn`, in a process group of its own. @param timeout milliseconds until the group gets SIGTERM */
    start(command, args, { timeout, ...options }) {
      const child = spawn(command, args, { ...options, detached: true })
      children.add(child)
      const timer = setTimeout(() => end(child), timeout)
      child.once('close', () => {
        clearTimeout(timer)
        children.delete(child)
      })
      return child
    },
  }
}

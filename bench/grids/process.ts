// SPDX-License-Identifier: Apache-2.0
// The controller as it ships, as a process.
import { Child } from '../../sandbox/child.js'
import { systemClock } from '../../core/clock.js'
import type { GridsStatusView } from '../../grids/run/status-view.js'
import { freePort } from '../../testkit/free-port.js'
import { until } from '../../testkit/kube/raw-objects.js'

export interface Controller {
  readonly pid: number
  status(): Promise<GridsStatusView>
  stop(): Promise<void>
}

/** Start it, and wait until it leads over full tables. The flags of Node.js are those of the image. */
export const startController = async (kubeconfig: string): Promise<Controller> => {
  const address = `127.0.0.1:${await freePort()}`
  const child = new Child({
    title: 'grids',
    command: process.execPath,
    args: [
      ...['--max-semi-space-size=2', '--v8-pool-size=1', 'dist/edge-health.cjs'],
      ...['grids', '--kubeconfig', kubeconfig, '--status-address', address],
    ],
    env: { PATH: '/usr/bin:/bin' },
  })
  const status = async (): Promise<GridsStatusView> => {
    const answer = await fetch(`http://${address}/status`)
    return (await answer.json()) as GridsStatusView
  }
  try {
    await until(
      'the controller leads',
      async () => {
        if (child.end !== undefined) throw new Error(child.lastLines(10).join('\n'))
        return status().then(
          ({ leader }) => leader.isLeading,
          () => false,
        )
      },
      60_000,
    )
  } catch (error) {
    await child.kill()
    throw error
  }
  return { pid: child.pid!, status, stop: () => child.stop(systemClock) }
}

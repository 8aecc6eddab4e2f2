// SPDX-License-Identifier: Apache-2.0
// Two zones of real processes, a wrapper, and the programs beside a cluster, scraped by a real Prometheus, and what happens there for the
// pictures.
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import { addressesFrom } from '../../sandbox/addresses.js'
import { Child } from '../../sandbox/child.js'
import { makeZone, type Zone } from '../../sandbox/zone.js'
import { kubeconfigText } from '../../sandbox/zone-objects.js'
import { readCrds } from '../../testkit/kube/grid-crds.js'
import { startPrograms } from '../../testkit/prometheus/programs.js'
import type { ScrapeTarget } from '../../testkit/prometheus/server.js'
import type { Deed } from './alert-history.js'

const wait = (seconds: number): Promise<void> =>
  new Promise(resolve => setTimeout(resolve, seconds * 1_000))

const env = { PATH: process.env['PATH'] ?? '' }

const zoneOf = (script: string, zone: string, base: string, nodes: number): Promise<Zone> =>
  makeZone(
    {
      ...{ addresses: addressesFrom(base, nodes), zone, profile: 'default', vouch: 'lease' },
      ...{ command: process.execPath, script, env, tempDir: tmpdir(), apiPort: 0 },
      onCrash: ({ title }) => process.stderr.write(`${title} ended by itself\n`),
    },
    { clock: systemClock, log: silentLog },
  )

/** The wrapper of a zone's first node. */
const startWrapper = async (script: string, zone: Zone): Promise<Child> => {
  const { name, localUrl, identity } = zone.nodes[0]!
  const folder = join(zone.dir, 'wrapper')
  await mkdir(folder)
  const kubeconfig = join(folder, 'kubeconfig')
  await writeFile(kubeconfig, kubeconfigText(zone.api.url, name, zone.api.addClient('wrapper')))
  const args = [
    ...['wrapper', `--node-name=${name}`, `--kubeconfig=${kubeconfig}`],
    `--bind-address=${identity.address}:51008`,
    `--status-address=${identity.address}:51007`,
    `--state-dir=${join(folder, 'state')}`,
    `--service-autonomy-enhancement=enabled=true,interval=1,address=${localUrl}/localinfo`,
  ]
  return new Child({ title: 'wrapper', command: process.execPath, args: [script, ...args], env })
}

/** So that the rates of what is scraped have a past. */
const SETTLE_SECONDS = 60

const isWell = async (zone: Zone): Promise<boolean> => {
  const views = await Promise.all(zone.nodes.map(node => zone.localInfo(node)))
  return views.every(view => zone.nodes.every(({ name }) => view?.get(name) === true))
}

/** Two zones that run, and the grids controller, the bridge and the webhook beside a cluster of their own. */
export interface Stage {
  readonly targets: readonly ScrapeTarget[]
  /** Waits until all agents call all nodes up, and the programs are ready. */
  settle(): Promise<void>
  /**
   * A node dies and comes back, another one loses its link, a third dies and stays dead; the programs get work: 7 min.
   * @returns what was done, and when
   */
  play(): Promise<readonly Deed[]>
  stop(): Promise<void>
}

/** The name of the zone in which it happens. */
export const TROUBLED = 'north'

/**
 * @param script the bundle
 * @param components the folder of `deploy/components`
 */
export const makeStage = async (script: string, components: string): Promise<Stage> => {
  const north = await zoneOf(script, TROUBLED, '127.38.0.11', 5)
  const south = await zoneOf(script, 'south', '127.38.1.11', 3)
  const zones = [north, south]
  // Also when a signal ends this.
  process.once('exit', () => {
    for (const node of zones.flatMap(({ nodes }) => nodes)) void node.kill()
  })
  await Promise.all(zones.map(zone => zone.start()))
  const wrapper = await startWrapper(script, north)
  process.once('exit', () => void wrapper.kill())
  const programs = await startPrograms(
    script,
    '127.38.2.11',
    readCrds(join(components, 'grids', 'crds.yaml')),
  )
  const areReady = async (): Promise<boolean> =>
    (await Promise.all([...zones.map(isWell), programs.isReady()])).every(is => is)
  const agents = [TROUBLED, 'south'].flatMap((zone, i) =>
    zones[i]!.nodes.map(({ name, identity }) => ({
      ...{ job: 'edge-health', address: `${identity.address}:51006` },
      labels: { node: `${zone}-${name}`, node_zone: zone },
    })),
  )
  const first = north.nodes[0]!.identity.address
  const labels = { node: agents[0]!.labels.node, node_zone: TROUBLED }
  return {
    targets: [
      ...agents,
      { job: 'edge-health-wrapper', address: `${first}:51007`, labels },
      ...programs.targets,
    ],
    settle: async () => {
      while (!(await areReady())) await wait(1)
      await wait(SETTLE_SECONDS)
    },
    play: async () => {
      const deeds: Deed[] = []
      const note = (what: string): void => void deeds.push({ at: Date.now() / 1_000, what })
      await wait(30)
      note('grids, bridge and webhook get work')
      await programs.work()
      await wait(30)
      note('edge-5 loses its power')
      await north.node('edge-5').kill()
      await wait(120)
      note('edge-5 gets it back')
      north.restart(north.node('edge-5'))
      await wait(60)
      note("edge-2's link to the cloud is cut")
      north.cutCloud(north.node('edge-2'), 'silent')
      await wait(30)
      note('edge-4 loses its power')
      await north.node('edge-4').kill()
      await wait(150)
      return deeds
    },
    stop: async () => {
      await Promise.all([wrapper.stop(systemClock), programs.stop()])
      await Promise.all(zones.map(zone => zone.stop()))
    },
  }
}

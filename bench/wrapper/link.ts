// SPDX-License-Identifier: Apache-2.0
// What a wrapper costs its node's link to the cloud a day: every IP packet between it and a real kube-apiserver, whose Nodes
// are as large as real ones and report as real ones do. Services and slices stand still.
import { systemClock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import { createZoneObjects, ZONE_LABEL } from '../../sandbox/zone-objects.js'
import { API_PORT } from '../../testkit/control-plane/flags.js'
import type { ControlPlane } from '../../testkit/control-plane/control-plane.js'
import { buildMeter, cutPackets, Meter } from '../../testkit/meter/meter.js'
import {
  between,
  megabytesADay,
  sumOf,
  TRAFFIC_HEAD,
  trafficRows,
} from '../../testkit/meter/traffic.js'
import { FakeAgent } from '../../testkit/zone/fake-agent.js'
import type { LinkTraffic } from '../agent/link.js'
import { castOf } from '../agent/world/cast.js'
import { Cluster } from '../agent/world/cluster.js'
import { openPlane } from '../grids/plane.js'
import { inColumns } from '../scale/figures.js'
import { Wrapper } from './process.js'
import type { Row } from './table.js'

const BLOCK = 90
/** By which the wrapper alone asks. */
const ADDRESS = '127.91.0.1'
const ACCOUNT = '/api/v1/namespaces/edge-system/serviceaccounts/edge-health-wrapper/token'
const SERVICES = '/api/v1/namespaces/default/services'
const SETTLE_MS = 30_000
/** Megabytes a day, whatever the number of Nodes. */
const BARS = { noKeys: 10, oneUnit: 40 }

const never = new AbortController().signal
const wait = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** A token as the wrapper's Pod has one: a kilobyte that goes with each request. */
const tokenOf = async (plane: ControlPlane): Promise<string> => {
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const answer = (await plane.admin.post(ACCOUNT, request, never)) as {
    readonly status: { readonly token: string }
  }
  return answer.status.token
}

interface Bed {
  readonly meter: Meter
  readonly nodes: number
  readonly seconds: number
  readonly say: (line: string) => void
}

const barText = (megabytes: number): string => `≤ ${megabytes} MB a day`

/** A bar, and what was counted for it. */
interface LinkRow extends Row {
  readonly link: LinkTraffic
}

/** @param megabytes the bar, of a day */
export const barRow = (what: string, megabytes: number, link: LinkTraffic): LinkRow => {
  const found = megabytesADay(sumOf(link.entries).bytes, link.seconds)
  return {
    what,
    bar: barText(megabytes),
    measured: `${found.toFixed(1)} MB`,
    isMet: found <= megabytes,
    link,
  }
}

const measure = async (what: string, megabytes: number, bed: Bed): Promise<Row> => {
  await wait(SETTLE_MS)
  const from = bed.meter.entries
  await wait(bed.seconds * 1_000)
  const entries = between(from, bed.meter.entries)
  bed.say(`${what}:\n${inColumns(TRAFFIC_HEAD, trafficRows(entries, bed.seconds))}`)
  return barRow(what, megabytes, { entries, seconds: bed.seconds })
}

const measureBoth = async (plane: ControlPlane, bed: Bed): Promise<readonly Row[]> => {
  const agent = new FakeAgent()
  const [self] = castOf(bed.nodes, BLOCK).members
  agent.publish(new Map([[self!.name, true]]))
  const localInfo = await agent.start()
  const api = { url: `https://${ADDRESS}:${API_PORT}`, token: await tokenOf(plane), ca: plane.ca }
  const wrapper = await Wrapper.start(api, { node: self!.name, localInfo })
  try {
    const what = `cloud link, ${bed.nodes} Nodes`
    const without = await measure(`${what}, no topology keys`, BARS.noKeys, bed)
    const annotations = { topologyKeys: JSON.stringify([ZONE_LABEL]) }
    await plane.admin.patch(`${SERVICES}/shop`, 'merge', { metadata: { annotations } }, never)
    return [without, await measure(`${what}, all of one unit`, BARS.oneUnit, bed)]
  } finally {
    await wrapper.stop()
    await agent.stop()
  }
}

/** Where not all packets were counted, a bar that looks met proves nothing. */
export const countRows = (nodes: number, faults: readonly string[]): readonly Row[] =>
  faults.map(fault => ({
    what: `cloud link, ${nodes} Nodes, counting`,
    bar: 'no fault',
    measured: fault,
    isMet: false,
  }))

/** @param isIsolated whether this process has a network of its own, whose loopback it may change. */
export const linkRows = async (
  isIsolated: boolean,
  { nodes, seconds }: { readonly nodes: readonly number[]; readonly seconds: number },
  say: (line: string) => void,
): Promise<readonly Row[]> => {
  if (!isIsolated)
    return [
      {
        what: 'cloud link',
        bar: barText(BARS.noKeys),
        measured: 'needs a network namespace: run it as root on Linux',
        isMet: undefined,
      },
    ]
  cutPackets('lo')
  const rows: Row[] = []
  for (const count of nodes) {
    const opened = await openPlane(say, [ADDRESS])
    const { plane } = opened
    const access = { server: plane.url, token: plane.adminToken, ca: plane.ca }
    const cluster = await Cluster.make({ clock: systemClock, log: silentLog }, access)
    const sides = {
      isOurs: ({ address }: { readonly address: string }) => address !== ADDRESS,
      endOf: () => 'apiserver',
    }
    const meter = await Meter.open(buildMeter(process.env), 'lo', sides)
    try {
      await createZoneObjects(plane.admin, 'the key of a bench, which nobody uses', never)
      await plane.kubectl(['apply', '-k', 'deploy/base'])
      await plane.kubectl(['create', 'service', 'clusterip', 'shop', '--tcp=80:80'])
      await cluster.fill(castOf(count, BLOCK).members, '')
      rows.push(...(await measureBoth(plane, { meter, nodes: count, seconds, say })))
      rows.push(...countRows(count, (await meter.close()).faults))
    } finally {
      await meter.close()
      await cluster.stop()
      await opened.stop()
    }
  }
  return rows
}

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { memberOf } from '../../testkit/zone/core-agent.js'
import { CoreZone } from '../../testkit/zone/core-zone.js'
import { share } from '../../testkit/share.js'

const NODE = 5
/** Twice `--reaffirm-window`, and a round of probes. */
const BEGIN_MS = 20_000

for (const seed of share(t, [2, 7, 1, 3, 4], 1, 'seeds')) {
  t.test(`seed ${seed}: a node whose observers all fall silent is soon watched again`, async t => {
    const zone = new CoreZone(80, { seed })
    const silent = new Set<string>()
    const { network } = zone
    const transport = network.transport.bind(network)
    // Their nodes go on answering probes, so nobody calls them down: all is well, and votes are rare.
    network.transport = from => {
      const made = transport(from)
      return {
        ...made,
        send: (peer, ...message) =>
          silent.has(from) || silent.has(peer.address)
            ? Promise.reject(new Error('nobody listens'))
            : made.send(peer, ...message),
      }
    }
    zone.bootAll()
    await zone.run(90_000)
    const { table, roster } = zone.agents[20]!.state
    const index = roster.indexOf(memberOf(NODE).name)!
    const observers = Array.from(table.topology.observersOf(index), at => zone.nodeAt(roster, at))
    for (const observer of observers) silent.add(memberOf(observer).address)
    let begun: number | undefined
    zone.watcher = {
      round: (by, { target }) => {
        if (target === memberOf(NODE).name && !observers.includes(by)) begun ??= zone.clock.now()
      },
    }
    const expired = zone.clock.now() + zone.options.recordTtlMs
    await zone.until(() => begun !== undefined, 2 * zone.options.recordTtlMs)
    const ms = begun! - expired
    t.ok(ms > 0 && ms <= BEGIN_MS, `the first backup observer looks ${ms} ms after they expired`)
    await zone.stop()
    t.equal(zone.clock.waiting, 0, 'no timer is left')
  })
}

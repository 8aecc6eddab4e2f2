// SPDX-License-Identifier: Apache-2.0
// The demo as a person runs it, from the packed file: one command, real processes, every scene.
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { DemoReport } from '../../sandbox/demo/run.js'
import { eventually, processesWith, startBundle } from '../../testkit/bundle.js'
import { unpackPackage } from '../../testkit/packed.js'
import { share } from '../../testkit/share.js'

/** A hang, not a measurement: the machine may be busy. What a scene may take is the demo's own matter. */
t.setTimeout(300_000)

const script = join(unpackPackage(t), 'dist', 'edge-health.cjs')

/** A folder for temporary files of its own, so that what is left behind shows. */
const placeFor = (t: Test, name: string): string => {
  const place = join(t.testdir(), name)
  mkdirSync(place)
  return place
}
const leavesNothing = (t: Test, place: string): void => {
  t.strictSame(processesWith(place), [], 'no process is left')
  t.strictSame(readdirSync(place), [], 'no file is left')
}

/** What each scene must have claimed, in this order; the demo's own limits decide whether it holds. */
const scenes: Readonly<Record<string, readonly RegExp[]>> = {
  healthy: [
    /every \/localinfo shows every node up/,
    /every agent knows the keys of every node/,
    /every Node is Ready/,
  ],
  dies: [/every other \/localinfo shows edge-5 down/, /annotated nodeunhealth=yes/, /once, by one/],
  returns: [/every node up/, /annotation of edge-5 is gone/, /cleared once/, /carries no taint/],
  freezes: [
    /shows edge-4 down/,
    /edge-4 is annotated/,
    /every node up/,
    /annotation of edge-4 is gone/,
    /carries no taint/,
  ],
  'cut-vouched': [
    /edge-2 has the taint edge-health\/cloud-link-cut:NoSchedule and PeerHealth=CloudLinkCut/,
    /stays Ready and without unreachable taint past the grace time/,
    /edge-2 is Ready and carries no taint/,
  ],
  'cut-unvouched': [
    /every node up/,
    /edge-2 is Unknown and has both unreachable taints/,
    /all the while its peers call it up, and its link cut/,
    /every node up/,
    /every Node is Ready/,
  ],
  'zone-cut': [
    /every agent says that its cloud link is cut/,
    /every other \/localinfo shows edge-1 down/,
    /nothing is written/,
  ],
  'zone-heals': [
    /edge-1 is annotated/,
    /once, by one writer/,
    /all the others are Ready/,
    /every node up/,
    /edge-1 is Ready and carries no taint/,
  ],
  grids: [
    /web-north and web-south are there/,
    /stay in the site: topologyKeys \["site"\]/,
    /kube-proxy on edge-1 is sent the endpoints of edge-1, edge-3, edge-4, edge-5/,
    /kube-proxy on edge-1 is sent the endpoints of edge-1, edge-4, edge-5: who lives/,
    /a dead node takes no workload/,
    /every node up/,
    /is sent the endpoints of edge-1, edge-3, edge-4, edge-5/,
    /web-west is there/,
    /is sent the endpoints of edge-1, edge-4, edge-5: edge-3 left/,
    /web-west went/,
    /it is held/,
    /nothing is deleted/,
    /hold ends/,
    /the objects that they were/,
  ],
  'most-die': [/show all of them down/, /nothing is written/, /what holds them back/],
}

const parse = (text: string): DemoReport => JSON.parse(text) as DemoReport

t.test('every scene shows what it claims', async t => {
  const place = placeFor(t, 'demo')
  const all = Object.keys(scenes)
  const played = share(t, all, 3, 'scenes')
  const chosen = played.length < all.length ? played.flatMap(name => ['--scene', name]) : []
  const args = ['demo', '-o', 'json', '--address-base', '127.31.0.11', ...chosen]
  const demo = startBundle(t, script, args, { TMPDIR: place })
  const { code, out, err, ms } = await demo.ended
  t.equal(code, 0, 'exit code', { diagnostic: code !== 0, stderr: err.slice(-4_000) })
  const report = parse(out)
  t.match(report, { ok: true, interrupted: false, nodes: 5, profile: 'fast', trouble: [] })
  t.strictSame(
    report.scenes.map(({ name }) => name),
    played,
    'they were played, in order',
  )
  for (const { name, outcome, claims } of report.scenes) {
    const times = claims.map(({ ms }) => (ms / 1_000).toFixed(1)).join(', ')
    t.equal(outcome, 'ok', `${name}: claims held after ${times} s`)
    t.match(
      claims.map(({ claim }) => claim),
      scenes[name],
      `${name} claims what it should`,
    )
    t.equal(claims.length, scenes[name]?.length, `${name} claims nothing beside`)
  }
  t.comment(`through in ${(ms / 1_000).toFixed(0)} s`)
  leavesNothing(t, place)
})

t.test('Ctrl-C in the middle leaves nothing behind', async t => {
  const place = placeFor(t, 'cut')
  const demo = startBundle(t, script, ['demo', '-o', 'json', '--address-base', '127.31.1.11'], {
    TMPDIR: place,
  })
  // Counted before a scene can end one of them.
  const haveAllStarted = (): boolean => processesWith(place).length === 10
  await eventually('five agents and five kubelets run', 120_000, haveAllStarted)
  await eventually('the zone runs', 120_000, () => demo.err().includes('ok every /localinfo'))
  demo.kill('SIGINT')
  const { code, out } = await demo.ended
  t.equal(code, 130)
  t.match(parse(out), { ok: false, interrupted: true })
  leavesNothing(t, place)
})

t.test('--keep stays up, answers, and ends well with SIGTERM', async t => {
  const place = placeFor(t, 'keep')
  const args = ['demo', '--keep', '--scene', 'healthy', '--nodes', '3', '-o', 'json']
  const demo = startBundle(t, script, [...args, '--address-base', '127.31.2.11'], { TMPDIR: place })
  await eventually('it says what to try', 120_000, () => demo.err().includes('Ctrl-C ends it.'))
  const url = 'http://127.31.2.11:51006'
  t.match(demo.err(), `curl ${url}/localinfo`)
  const status = await startBundle(t, script, ['status', '--agent', url]).ended
  t.equal(status.code, 0, status.err)
  t.match(status.out, /edge-3/)
  demo.kill('SIGTERM')
  const { code, out } = await demo.ended
  t.equal(code, 0)
  t.match(parse(out), { ok: true })
  leavesNothing(t, place)
})

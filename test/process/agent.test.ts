// SPDX-License-Identifier: Apache-2.0
// What a person sees of agents that are real processes: start, stop, boot without the cloud, death of the writer.
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { kubeconfigText } from '../../sandbox/zone-objects.js'
import { buildBundle, eventually, startBundle, type Finished } from '../../testkit/bundle.js'
import { REFUSALS } from '../../agent/stages/exchange/refusal.js'
import { certificateFor } from '../../testkit/certificates.js'
import { ruleGroups } from '../../testkit/prometheus/rules.js'
import { parseScrape, selectorsOf } from '../../testkit/prometheus/scrape.js'
import { get, startProcessZone } from './process-zone.js'

// About 60 s; several times that on a machine that does other things as well.
t.setTimeout(900_000)
/** For what must come true at all. What must come true in time is compared with its own bound. */
const SOON_MS = 180_000

const script = buildBundle(t)

/** What it said beside that it starts. */
const troubleOf = ({ err }: Finished): readonly string[] =>
  err
    .trim()
    .split('\n')
    .filter(line => !line.startsWith('{"level":"info"'))

const agentArguments = (folder: string, address: string, more: readonly string[] = []) => [
  'agent',
  '--node-name=edge-1',
  `--node-address=${address}`,
  `--state-dir=${join(folder, 'state')}`,
  ...more,
]

/** A kubeconfig of an API where nobody listens. */
const deadKubeconfig = (folder: string): string => {
  const path = join(folder, 'kubeconfig')
  writeFileSync(path, kubeconfigText('http://127.0.0.1:1', 'nobody', 'token'))
  return path
}

const takePort = async (t: Test, host: string): Promise<number> => {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, host, () => resolve()))
  t.teardown(() => server.close())
  return (server.address() as { port: number }).port
}

t.test('what keeps an agent from starting is one clear line and exit code 1', async t => {
  const folder = t.testdir()
  const port = await takePort(t, '127.32.0.1')
  const kubeconfig = deadKubeconfig(folder)
  writeFileSync(join(folder, 'broken'), 'clusters: [')
  mkdirSync(join(folder, 'a-folder'))
  const free = ['--local-port=51006', '--local-address=127.32.0.2']
  const at = (name: string): string => `--kubeconfig=${join(folder, name)}`
  const rows: [why: string, args: readonly string[], line: RegExp][] = [
    [
      'the local port is taken',
      [`--kubeconfig=${kubeconfig}`, '--local-address=127.32.0.1', `--local-port=${port}`],
      new RegExp(`127\\.32\\.0\\.1:${port}.*the port is taken; is the same program running`),
    ],
    [
      "the peers' port is taken",
      [`--kubeconfig=${kubeconfig}`, ...free, `--port=${port}`],
      new RegExp(`127\\.32\\.0\\.1:${port}.*the port is taken`),
    ],
    ['no kubeconfig there', [...free, at('absent')], /absent.*(no such file|ENOENT)/],
    [
      'a kubeconfig that nobody can read',
      [...free, at('a-folder')],
      /a-folder.*(EISDIR|directory)/,
    ],
    ['a kubeconfig that is no YAML', [...free, at('broken')], /broken/],
    ['neither kubeconfig nor Pod', free, /no kubeconfig given and not inside a Pod/],
  ]
  for (const [why, args, line] of rows) {
    const ended = await startBundle(t, script, agentArguments(folder, '127.32.0.1', args)).ended
    t.equal(ended.code, 1, `${why}: exit code`)
    const trouble = troubleOf(ended)
    t.equal(trouble.length, 1, `${why}: one line`, { err: ended.err })
    t.match(trouble[0], line, why)
    t.notMatch(ended.err, / at .*\.cjs:/, `${why}: no stack`)
    t.equal(ended.out, '')
  }
})

t.test(
  'an address that is not there yet is waited for; without a zone it is not ready',
  async t => {
    const folder = t.testdir()
    const more = [
      `--kubeconfig=${deadKubeconfig(folder)}`,
      '--local-address=127.32.0.3',
      '--local-port=51006',
    ]
    // TEST-NET-1: no machine has it.
    const agent = startBundle(t, script, agentArguments(folder, '192.0.2.7', more))
    const url = 'http://127.32.0.3:51006'
    await eventually('it waits', SOON_MS, () => agent.err().includes('does not exist yet, waiting'))
    t.match(await get(`${url}/healthz`), { status: 200 })
    t.match(await get(`${url}/readyz`), { status: 503, text: /the zone is not known yet/ })
    t.match(await get(`${url}/localinfo`), { status: 200, text: /^\{\}/ }, 'it decides nothing')
    const askedAt = performance.now()
    agent.kill('SIGTERM')
    const { code } = await agent.ended
    t.equal(code, 0)
    t.ok(performance.now() - askedAt < 5_000)
  },
)

t.test('--metrics-address: metrics alone for others, without waiting for the zone', async t => {
  const folder = t.testdir()
  const { cert, key } = await certificateFor('127.32.0.5')
  for (const [name, text] of Object.entries({ cert, key })) writeFileSync(join(folder, name), text)
  const files = [`--metrics-cert-file=${join(folder, 'cert')}`, `--metrics-key-file=${join(folder, 'key')}`] // prettier-ignore
  const agent = startBundle(t, script, [
    ...agentArguments(folder, '192.0.2.7'),
    ...[`--kubeconfig=${deadKubeconfig(folder)}`, '--local-address=127.32.0.4'],
    ...['--local-port=51006', '--metrics-address=127.32.0.5:51009', ...files],
  ])
  const ask = (path: string): Promise<readonly [status: number | undefined, text: string]> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.32.0.5', port: 51009, path, ca: cert, agent: false }
      https
        .get(options, response => {
          let text = ''
          response.on('data', chunk => (text += String(chunk)))
          response.on('end', () => resolve([response.statusCode, text]))
        })
        .on('error', reject)
    })
  await eventually('it listens', SOON_MS, () => ask('/metrics').then(() => true, () => false)) // prettier-ignore
  const [status, text] = await ask('/metrics')
  t.equal(status, 200)
  t.match(text, /^edge_health_build_info\{version="[^"]+",node="edge-1",zone=""\} 1$/m)
  t.equal((await ask('/status'))[0], 404)
  agent.kill('SIGTERM')
  t.equal((await agent.ended).code, 0)
  const broken = startBundle(t, script, [
    ...agentArguments(folder, '127.32.0.1', [`--kubeconfig=${deadKubeconfig(folder)}`]),
    ...['--metrics-address=127.32.0.5:51009', '--metrics-cert-file=/absent', files[1]!],
  ])
  t.match(await broken.ended, { code: 2, err: /--metrics-cert-file must be a file that can be/ })
})

t.test('a zone of five', async t => {
  const zone = await startProcessZone(t, script, {
    base: '127.32.1.11',
    nodes: 5,
    env: { EDGE_HEALTH_WRITE_HOLD: '8s' },
  })
  const { explain, agreed, statusOf, detailOf } = zone
  const restart = async (...names: readonly string[]): Promise<void> => {
    for (const name of names) zone.zone.restart(zone.node(name))
    await agreed([], SOON_MS)
  }
  await agreed([], SOON_MS)

  await t.test('ready, with its memory on disk for its owner alone', async t => {
    t.match(await get(`${zone.node('edge-1').localUrl}/readyz`), { status: 200 })
    const folder = join(zone.node('edge-1').identity.dir, 'state')
    await eventually('roster and keys are on disk', SOON_MS, () => readdirSync(folder).length >= 3)
    t.equal(statSync(folder).mode & 0o777, 0o700)
    for (const name of readdirSync(folder)) {
      // A new version of a file is written beside it, and may take its place meanwhile.
      const file = statSync(join(folder, name), { throwIfNoEntry: false })
      if (file === undefined) t.match(name, /\.new$/)
      else t.equal(file.mode & 0o777, 0o600, name)
    }
  })

  await t.test('what the alerts ask for is scraped, from the start and at 0', async t => {
    let scraped = ''
    await eventually('it is scraped, with rounds that were timed', SOON_MS, async () => {
      scraped = (await get(`${zone.node('edge-1').localUrl}/metrics`))?.text ?? ''
      // The others' votes may have come before the node's own first answer.
      return /^edge_health_probe_duration_seconds_count [1-9]/m.test(scraped)
    })
    const series = parseScrape(scraped)
    const agents = ruleGroups().find(({ name }) => name === 'edge-health')
    for (const { alert, expr } of agents?.rules ?? [])
      for (const { name, equal } of selectorsOf(expr)) {
        // Shown of nodes in maintenance alone; `unless` takes its absence for none.
        if (name === 'edge_health_node_maintenance') continue
        const found = series.filter(each => each.name === name)
        const has = (label: string): boolean =>
          found.some(each => equal[label] === each.labels[label])
        t.ok(found.length > 0 && Object.keys(equal).every(has), `${alert}: ${name}`)
      }
    const of = (name: string) => series.filter(each => each.name === name)
    t.equal(of('edge_health_api_writes_total').length, 4 * 5, 'each kind and result')
    t.equal(of('edge_health_exchange_refused_total').length, REFUSALS.length)
    t.equal(of('edge_health_node_verdict').length, 5)
  })

  await t.test('the writer is killed between decision and write: another writes, once', async t => {
    const writes = zone.zone.recordWrites()
    let flips = 0
    t.teardown(
      zone.zone.api.store.subscribe('nodes', ({ object, previous }) => {
        const mark = (node: unknown): unknown =>
          (node as { metadata: { annotations?: Record<string, string> } } | undefined)?.metadata
            .annotations?.['nodeunhealth']
        if (object.metadata.name === 'edge-5' && mark(object) !== mark(previous)) flips++
      }),
    )
    await zone.node('edge-5').kill()
    const survivors = ['edge-1', 'edge-2', 'edge-3', 'edge-4']
    const { elected, dueAt } = await eventually('all agree who is to write', SOON_MS, async () => {
      const askedAt = performance.now()
      const views = await Promise.all(survivors.map(name => detailOf(name, 'edge-5')))
      const next = views[0]?.node.nextWrite
      const isAgreed = views.every(view => view?.node.nextWrite?.by === next?.by)
      if (!isAgreed || next?.what !== 'dead' || next.inSeconds === null) return false
      return { elected: next.by, dueAt: askedAt + next.inSeconds * 1_000 }
    })
    zone.signalAgent(elected, 'SIGKILL')
    zone.node(elected).state = 'killed'
    const aheadMs = dueAt - performance.now()
    t.ok(aheadMs > 0, `${elected} is killed ${aheadMs.toFixed(0)} ms before it is to write`)
    t.strictSame(writes(), [], 'nothing is written yet')

    const first = await eventually('another writes', SOON_MS, () =>
      writes().find(({ node }) => node === 'edge-5'),
    )
    const lateMs = performance.now() - dueAt
    t.ok(lateMs < 5_000, `${first.by} wrote ${lateMs.toFixed(0)} ms after ${elected} was to`)
    t.not(first.by, elected)
    t.equal(zone.zone.object('edge-5')?.metadata.annotations?.['nodeunhealth'], 'yes')
    await new Promise(resolve => setTimeout(resolve, 3_500))
    const about = writes().filter(({ node }) => node === 'edge-5')
    t.strictSame(about, [first], 'once: nobody wrote again, no second write was tried')
    t.equal(flips, 1)

    const asked = survivors.find(name => name !== elected)!
    const { code, out } = await explain(asked, 'edge-5')
    t.equal(code, 1)
    t.match(out, /^edge-5 \(127\.32\.1\.15\) is dead: a majority of its peers cannot reach it/)
    t.match(out, /votes: [34] down and 0 up count; 3 of 5 members decide/)
    t.match(out, /own probes +down, .* failed in a row: .*kubeletauth: connection refused/)
    t.match(out, /next write +nothing/)
    const teller = await explain(first.by, 'edge-5')
    t.match(teller.out, new RegExp(`written +status: dead, by ${first.by} .* ago: done`))
    await zone.node(elected).kill()
    await restart('edge-5', elected)
  })

  await t.test('a node without its cloud link is explained as alive and vouched for', async t => {
    zone.zone.cutCloud(zone.node('edge-2'), 'silent')
    await eventually('its peers vouch', SOON_MS, async () => {
      const view = await detailOf('edge-1', 'edge-2')
      return view?.node.vouch.state === 'active'
    })
    const { code, out } = await explain('edge-1', 'edge-2')
    t.equal(code, 0, 'it is not dead')
    t.match(
      out,
      /^edge-2 \(.*\) is alive: only its own link to the cloud is cut, for \d+ s by its own word; its peers vouch for it\.\n/,
    )
    t.match(out, /verdict +healthy, class cloud-link-cut/)
    t.match(out, /here +up: services on this node use it/)
    t.match(out, /own record .* kubelet well, cloud link cut since/)
    t.match(out, /vouching +by edge-[1345], since /)
    // It may have started a moment ago, and its own first verdicts are held as everybody's are.
    await eventually('it says so itself', SOON_MS, async () => {
      const own = await explain('edge-2', 'edge-2')
      return own.out.includes('only its own link to the cloud is cut')
    })
    zone.zone.healCloud(zone.node('edge-2'))
    await agreed([], SOON_MS)
  })

  await t.test('FA10: SIGSTOP and SIGCONT: it knows that it stood still', async t => {
    const suspensions = async (name: string): Promise<string | undefined> => {
      const metrics = await get(`${zone.node(name).localUrl}/metrics`)
      return /^edge_health_suspensions_total (\d+)$/m.exec(metrics?.text ?? '')?.[1]
    }
    const before = Number(await suspensions('edge-3'))
    zone.signalAgent('edge-3', 'SIGSTOP')
    await new Promise(resolve => setTimeout(resolve, 9_000))
    zone.signalAgent('edge-3', 'SIGCONT')
    await eventually(
      'it has noticed',
      SOON_MS,
      async () => Number(await suspensions('edge-3')) > before,
    )
    await agreed([], SOON_MS)
    t.ok(Number(await suspensions('edge-3')) > before)
  })

  await t.test('SIGTERM: it says goodbye, ends with 0, and nobody calls it dead', async t => {
    const writes = zone.zone.recordWrites()
    const node = zone.node('edge-3')
    const askedAt = performance.now()
    await node.stopAgent()
    const ms = performance.now() - askedAt
    t.ok(ms < 5_000, `ended after ${ms.toFixed(0)} ms`)
    t.match(node.agentEnd, { code: 0, signal: null })
    node.state = 'killed'
    await eventually('the others heard of it', SOON_MS, async () => {
      const view = await detailOf('edge-1', 'edge-4')
      const voter = view?.node.voters.find(({ name }) => name === 'edge-3')
      return voter?.counts === false && voter.why === 'it is shutting down'
    })
    // Twice what it takes to condemn and write a node that dies.
    await new Promise(resolve => setTimeout(resolve, 8_000))
    t.strictSame(
      writes().filter(({ node }) => node === 'edge-3'),
      [],
      'nothing is written about it',
    )
    await agreed([], SOON_MS)
    zone.zone.restart(node)
    await agreed([], SOON_MS)
  })

  await t.test('booted while the cloud is cut, all of them vote from disk', async t => {
    const writes = zone.zone.recordWrites()
    for (const node of zone.zone.nodes) zone.zone.cutCloud(node, 'refused')
    await zone.zone.restartAgents('lease')
    await agreed([], SOON_MS)
    await eventually('it knows that its link is cut', SOON_MS, async () => {
      const status = await statusOf('edge-1')
      return status?.cloudLink.state === 'cut'
    })
    t.match(await statusOf('edge-1'), { roster: { source: 'disk' } })
    t.match(await get(`${zone.node('edge-1').localUrl}/readyz`), { status: 200 })
    await zone.node('edge-5').kill()
    await agreed(['edge-5'], SOON_MS)
    await eventually('it is condemned', SOON_MS, async () => {
      const view = await detailOf('edge-1', 'edge-5')
      return view?.node.verdict === 'unhealthy'
    })
    t.strictSame(writes(), [], 'and nothing is written')
    const { out } = await explain('edge-1', 'edge-5')
    t.match(out, /cloud-link-cut: this agent does not reach the apiserver, so it writes nothing/)
    for (const node of zone.zone.nodes) zone.zone.healCloud(node)
    await restart('edge-5')
  })
})

t.test('the brake is explained with its numbers', async t => {
  const zone = await startProcessZone(t, script, {
    base: '127.32.2.11',
    nodes: 5,
    env: { EDGE_HEALTH_WRITE_HOLD: '4s', EDGE_HEALTH_BRAKE_SHARE: '20%' },
  })
  const { explain, agreed, detailOf } = zone
  await agreed([], SOON_MS)
  await eventually('nobody is undecided', SOON_MS, async () => {
    const asked = ['edge-1', 'edge-2', 'edge-3']
    const views = await Promise.all(
      asked.flatMap(by => ['edge-4', 'edge-5'].map(name => detailOf(by, name))),
    )
    return views.every(view => view?.node.verdict === 'healthy')
  })
  const writes = zone.zone.recordWrites()
  await Promise.all([zone.node('edge-4').kill(), zone.node('edge-5').kill()])
  await agreed(['edge-4', 'edge-5'], SOON_MS)
  await eventually('the brake holds', SOON_MS, async () => {
    const view = await detailOf('edge-1', 'edge-5')
    return view?.node.guards.some(({ kind }) => kind === 'brake')
  })
  const { code, out } = await explain('edge-1', 'edge-5')
  t.equal(code, 1)
  t.match(
    out,
    /^edge-5 \(.*\) looks dead \(3 down, 0 up, 3 needed\), but the brake holds: 2 of 5 nodes look dead, at most 1 may be condemned at one time; nothing is written about any of them\.\n/,
  )
  t.match(out, /guards +brake: 2 nodes look dead, at most 1 may be condemned/)
  t.match(out, /next write +dead, by edge-[123] once no guard holds/)
  t.strictSame(writes(), [])
})

// SPDX-License-Identifier: Apache-2.0
// The wrapper as a real process, beside a real agent, in front of the embedded API: what kube-proxy of that node sees.
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import { startApi } from '../../sandbox/api/server.js'
import { kubeconfigText } from '../../sandbox/zone-objects.js'
import type { ServiceView, WrapperStatusView } from '../../wrapper/status/status-view.js'
import { certificateFor } from '../../testkit/certificates.js'
import { buildBundle, eventually, startBundle, type Running } from '../../testkit/bundle.js'
import { get as getWithin, startProcessZone } from './process-zone.js'

// About 40 s; several times that on a machine that does other things as well.
t.setTimeout(420_000)

/** Far above what anything here takes: what comes late is another test's matter. */
const SOON_MS = 60_000

const script = buildBundle(t)

const get = (url: string): ReturnType<typeof getWithin> => getWithin(url, SOON_MS)

const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events'

interface Slice {
  readonly metadata: { readonly name: string; readonly resourceVersion: string }
  readonly endpoints?: readonly { readonly nodeName: string }[]
}

const nodesOf = (slice: Slice): string =>
  (slice.endpoints ?? []).map(({ nodeName }) => nodeName).join()

/** What a program says beside its log. */
const errorLines = (err: string): readonly string[] =>
  err.trim().split('\n').filter(text => !text.startsWith('{"level":"info"')) // prettier-ignore

/** A watch through the wrapper, as kube-proxy holds it: every event in order. */
const openWatch = async (
  t: Test,
  url: string,
): Promise<{ readonly seen: string[]; readonly isOpen: () => boolean }> => {
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const response = await fetch(url, { signal: stop.signal })
  t.equal(response.status, 200)
  const seen: string[] = []
  let isOpen = true
  const read = async (): Promise<void> => {
    let text = ''
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      const lines = (text + part).split('\n')
      text = lines.pop()!
      for (const line of lines.filter(line => line !== '')) {
        const event = JSON.parse(line) as { type: string; object: Slice & { code?: number } }
        const { type, object } = event
        if (type === 'ERROR') seen.push(`ERROR ${object.code}`)
        else if (type !== 'BOOKMARK')
          seen.push(`${type} ${object.metadata.name}: ${nodesOf(object)}`)
      }
    }
  }
  void read()
    .catch(() => undefined)
    .finally(() => (isOpen = false))
  return { seen, isOpen: () => isOpen }
}

t.test("kube-proxy's view of a zone of three", async t => {
  const zone = await startProcessZone(t, script, { base: '127.33.1.11', nodes: 3 })
  const { api } = zone.zone
  await zone.agreed([], SOON_MS)
  const send = async (path: string, body: object, base = api.url, token?: string) => {
    const headers = {
      'Content-Type': 'application/json',
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    }
    const answer = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: answer.status, text: await answer.text() }
  }
  const service = { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } }
  t.equal((await send('/api/v1/namespaces/default/services', service)).status, 201)
  const endpoint = (n: number): object => ({
    addresses: [`10.0.0.${n}`],
    nodeName: `edge-${n}`,
    conditions: { ready: true },
  })
  const slice = {
    metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    endpoints: [1, 2, 3].map(endpoint),
  }
  t.equal((await send(SLICES, slice)).status, 201)

  const folder = t.testdir()
  const client = 'wrapper-of-edge-1'
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(api.url, client, api.addClient(client)))
  const state = join(folder, 'state')
  const base = 'http://127.33.1.11:51008'
  const status = 'http://127.33.1.11:51009'
  const start = (): Running =>
    startBundle(t, script, [
      'wrapper',
      '--hostname=edge-1',
      `--kubeconfig=${kubeconfig}`,
      '--bind-address=127.33.1.11:51008',
      '--status-address=127.33.1.11:51009',
      `--state-dir=${state}`,
      '--save-period=1s',
      `--service-autonomy-enhancement=enabled=true,interval=1,address=${zone.node('edge-1').localUrl}/localinfo`,
      '--kube-qps=1000',
    ])
  const statusView = async (): Promise<WrapperStatusView | undefined> => {
    const answer = await get(`${status}/status`)
    return answer?.status === 200 ? (JSON.parse(answer.text) as WrapperStatusView) : undefined
  }
  const list = async (): Promise<readonly Slice[]> => {
    const answer = await get(base + SLICES)
    if (answer?.status !== 200) return []
    return (JSON.parse(answer.text) as { items: readonly Slice[] }).items
  }
  const shown = async (): Promise<string> => (await list()).map(nodesOf).join(';')
  const isShown = (what: string): Promise<unknown> =>
    eventually(`the slice shows ${what}`, SOON_MS, async () => (await shown()) === what)

  let wrapper = start()
  await eventually('ready', SOON_MS, async () => (await get(`${status}/readyz`))?.status === 200)
  await eventually('health is pushed', SOON_MS, async () => {
    const view = await statusView()
    return view?.health.state === 'fresh' && view.health.source === 'push'
  })
  const watch = await openWatch(t, `${base}${SLICES}?watch=true&resourceVersion=0`)

  await t.test('a list, a single object, and what is not ours', async t => {
    t.equal(await shown(), 'edge-1,edge-2,edge-3')
    t.match(await get(`${base}/api/v1/nodes/edge-2`), { status: 200, text: /"name":"edge-2"/ })
    t.match(await get(`${base}/apis/networking.k8s.io/v1/servicecidrs`), { status: 404 })
    t.match(
      wrapper.err(),
      /--kube-qps is accepted for compatibility with SuperEdge and does nothing/,
    )
    t.match(await get(`${base}/version`), { status: 200, text: /gitVersion/ })
    const passed = api.requests.filter(({ path }) => path.startsWith('/version'))
    t.not(passed.at(-1)?.client, client, 'without our credentials')
    const headers = { Authorization: `Bearer ${api.addClient('kube-proxy')}` }
    const config = `${base}/api/v1/namespaces/default/configmaps`
    t.equal((await fetch(config, { headers })).status, 200)
    const own = api.requests.filter(({ resource }) => resource === 'configmaps')
    t.strictSame(own.at(-1)?.client, 'kube-proxy', "with the caller's own")
  })

  await t.test('a write of what it served is taken, and comes back as an event', async t => {
    const [served] = await list()
    const body = JSON.stringify({ ...served, metadata: { ...served!.metadata, labels: { ...slice.metadata.labels, touched: 'yes' } } }) // prettier-ignore
    const answer = await fetch(`${base}${SLICES}/web-1`, { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body }) // prettier-ignore
    t.equal(answer.status, 200, await answer.text())
    await eventually('it is seen', SOON_MS, () => watch.seen.length === 2)
    const late = await fetch(`${base}${SLICES}/web-1`, { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body }) // prettier-ignore
    t.equal(late.status, 409, 'the same version once more is an old one')
  })

  await t.test('a dead node: its endpoints go from lists and watches', async t => {
    watch.seen.length = 0
    const diedAt = performance.now()
    await zone.node('edge-3').kill()
    await isShown('edge-1,edge-2')
    t.comment(`gone after ${((performance.now() - diedAt) / 1_000).toFixed(1)} s`)
    await eventually('the watch says so', SOON_MS, () =>
      watch.seen.at(-1) === 'MODIFIED web-1: edge-1,edge-2') // prettier-ignore
    const explained = startBundle(t, script, ['wrapper', 'explain', 'web', '--wrapper', status])
    const { code, out } = await explained.ended
    t.equal(code, 0)
    t.match(out, /^default\/web as edge-1 sees it\n/)
    t.match(out, /endpoints of its slices: 2 of 3 shown/)
    t.match(out, /10\.0\.0\.3 +edge-3 +default\/web-1 +left out: its node is dead/)
    t.match(out, /10\.0\.0\.1 +edge-1 +default\/web-1 +kept/)
    const asked = startBundle(t, script, ['wrapper', 'explain', 'web', '--wrapper', status, '-o', 'json']) // prettier-ignore
    const view = JSON.parse((await asked.ended).out) as ServiceView
    t.strictSame(view.slices.map(({ reason }) => reason).sort(), [
      ...['kept', 'kept-own-node', 'node-dead'],
    ])
    const nobody = await startBundle(t, script, ['wrapper', 'explain', 'no', '--wrapper', status])
      .ended
    t.equal(nobody.code, 1)
  })

  await t.test(
    'the cloud is cut: reads go on, writes are refused, health still prunes',
    async t => {
      for (const node of zone.zone.nodes) zone.zone.cutCloud(node, 'refused')
      api.cutLink(client, 'refused')
      await eventually('it knows', SOON_MS, async () => {
        const view = await statusView()
        return view?.resources.filter(({ resource }) => resource !== 'endpoints' && resource !== 'servicecidrs').every(({ isStale }) => isStale) // prettier-ignore
      })
      t.equal(await shown(), 'edge-1,edge-2')
      t.equal(watch.isOpen(), true, "kube-proxy's watch stays")
      zone.zone.restart(zone.node('edge-3'))
      await isShown('edge-1,edge-2,edge-3')
      await eventually('it came back, cloud or no cloud', SOON_MS, () =>
        watch.seen.at(-1) === 'MODIFIED web-1: edge-1,edge-2,edge-3') // prettier-ignore
    },
  )

  let lastVersion = ''
  await t.test('stopped by SIGTERM: 0, the watch ends in good order, lists are kept', async t => {
    lastVersion = (await list())[0]!.metadata.resourceVersion
    wrapper.kill('SIGTERM')
    const { code, signal } = await wrapper.ended
    t.strictSame([code, signal], [0, null])
    await eventually('the watch has ended', SOON_MS, () => !watch.isOpen())
    t.notMatch(watch.seen, ['ERROR'], 'an end is no error')
    t.equal(statSync(state).mode & 0o777, 0o700)
    const files = readdirSync(state).sort()
    t.strictSame(files, [
      ...['endpointslices.list', 'nodes.list', 'served-version', 'servicecidrs.list'],
      ...['services.list', 'topologykeys.list'],
    ])
    for (const name of files) t.equal(statSync(join(state, name)).mode & 0o777, 0o600, name)
  })

  await t.test('booted while the cloud is cut: from disk, at once, and said so', async t => {
    const startedAt = performance.now()
    wrapper = start()
    await isShown('edge-1,edge-2,edge-3')
    t.comment(`served after ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`)
    const view = await statusView()
    const bySource = view?.resources.filter(({ source }) => source === 'disk')
    t.strictSame(bySource?.map(({ resource, isStale }) => [resource, isStale]), [
      ...[['nodes', true], ['services', true], ['endpointslices', true]],
    ]) // prettier-ignore
    t.match(
      (await get(`${status}/metrics`))?.text,
      /edge_health_wrapper_stale\{resource="nodes"\} 1/,
    )
    const { out } = await startBundle(t, script, ['wrapper', 'status', '--wrapper', status]).ended
    t.match(out, /^wrapper of edge-1: /)
    t.match(out, /nodes +disk, stale +1 /)
    const old = await openWatch(t, `${base}${SLICES}?watch=true&resourceVersion=${lastVersion}`)
    await eventually('an answer', SOON_MS, () => old.seen.length > 0)
    t.strictSame(old.seen, ['ERROR 410'], 'versions of an earlier life: list again')
    await zone.node('edge-2').kill()
    await isShown('edge-1,edge-3')
    t.pass('it prunes what the disk remembers')
  })

  await t.test('when the cloud returns only differences are sent', async t => {
    const again = await openWatch(t, `${base}${SLICES}?watch=true&resourceVersion=0`)
    await eventually('the state', SOON_MS, () => again.seen.length === 1)
    api.healLink(client)
    for (const node of zone.zone.nodes) zone.zone.healCloud(node)
    await eventually('it is not stale any more', SOON_MS, async () => {
      const view = await statusView()
      return view?.resources.every(({ isStale, source }) => !isStale && source !== 'disk')
    })
    // What is told in order needs no wait: behind this one nothing of before can come.
    t.equal((await send(SLICES, { ...slice, metadata: { name: 'last' } })).status, 201)
    await eventually('the last', SOON_MS, () => again.seen.length > 1)
    t.strictSame(again.seen, ['ADDED web-1: edge-1,edge-3', 'ADDED last: edge-1,edge-3'])
    t.equal(again.isOpen(), true)
    wrapper.kill('SIGTERM')
    t.equal((await wrapper.ended).code, 0)
  })
})

t.test('an apiserver that is away: writes 503, Events wait and are sent later', async t => {
  const folder = t.testdir()
  const api = await startApi({ host: '127.33.2.1', port: 0, clock: systemClock, log: silentLog })
  t.teardown(() => api.stop())
  const token = api.addClient('kube-proxy')
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(api.url, 'w', api.addClient('wrapper')))
  api.cutLink('kube-proxy', 'refused')
  api.cutLink('wrapper', 'refused')
  const wrapper = startBundle(t, script, [
    ...['wrapper', '--node-name=n1', `--kubeconfig=${kubeconfig}`, `--state-dir=${folder}/s`],
    ...['--bind-address=127.33.2.1:51008', '--status-address=127.33.2.1:51009'],
    '--service-autonomy-enhancement=enabled=false',
  ])
  const base = 'http://127.33.2.1:51008'
  await eventually('it runs', SOON_MS, () => wrapper.err().includes('"msg":"running"'))
  t.match(await get('http://127.33.2.1:51009/healthz'), { status: 200 })
  t.match(await get('http://127.33.2.1:51009/readyz'), {
    status: 503,
    text: /not known yet: nodes/,
  })
  const post = (path: string, body: object): Promise<Response> =>
    fetch(base + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    })
  const refused = await post('/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } })
  t.equal(refused.status, 503)
  t.match(await refused.json(), { kind: 'Status', reason: 'ServiceUnavailable', code: 503 })
  const event = (n: number): object => ({
    ...{ apiVersion: 'events.k8s.io/v1', kind: 'Event', type: 'Normal', reason: 'Test' },
    metadata: { name: `e.${n}`, namespace: 'default' },
    ...{ eventTime: '2026-01-01T00:00:00.000000Z', action: 'Test', note: 'n' },
    ...{ reportingController: 'kube-proxy', reportingInstance: 'n1' },
    regarding: { kind: 'Node', name: 'n1' },
  })
  for (const n of [1, 2, 3]) {
    const answer = await post(EVENTS, event(n))
    t.equal(answer.status, 201)
    t.match(await answer.json(), { metadata: { name: `e.${n}` } })
  }
  t.match(await (await fetch('http://127.33.2.1:51009/status')).json(), {
    events: { waiting: 3, accepted: 3, sent: 0 },
  })
  api.healLink('kube-proxy')
  api.healLink('wrapper')
  await eventually('they are told', SOON_MS, () =>
    api.requests.filter(({ resource, verb }) => resource === 'events' && verb === 'create').length === 3) // prettier-ignore
  const report = api.requests.filter(({ resource }) => resource === 'events')
  t.strictSame(report.map(({ client, status }) => [client, status]), [
    ...[1, 2, 3].map(() => ['kube-proxy', 201]),
  ]) // prettier-ignore
  t.strictSame(
    api.store.list('events', 'default').map(({ metadata }) => metadata.name),
    ['e.1', 'e.2', 'e.3'],
  )
  t.notMatch(wrapper.err(), token)
  wrapper.kill('SIGINT')
  t.equal((await wrapper.ended).code, 0)
})

t.test('a certificate that cannot be used is exit code 2 and one line', async t => {
  const folder = t.testdir()
  const pair = await certificateFor('127.33.3.1')
  const other = await certificateFor('127.33.3.1')
  const files = {
    'ca.pem': pair.cert,
    'cert.pem': pair.cert,
    'key.pem': pair.key,
    'other.pem': other.key,
    'rubbish.pem': 'no certificate at all',
    'broken.pem': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText('http://127.0.0.1:1', 'w', 'token'))
  const run = (ca: string, cert: string, key: string): Running =>
    startBundle(t, script, [
      ...['wrapper', '--node-name=n1', `--kubeconfig=${kubeconfig}`, `--state-dir=${folder}/s`],
      ...['--bind-address=127.33.3.1:51008', '--status-address=127.33.3.1:51009'],
      ...['--insecure=false', `--ca-file=${folder}/${ca}`, `--cert-file=${folder}/${cert}`],
      `--key-file=${folder}/${key}`,
    ])
  const rows: [ca: string, cert: string, key: string, line: RegExp][] = [
    [
      'absent.pem',
      'cert.pem',
      'key.pem',
      /--ca-file must be a file that can be read .*absent\.pem/,
    ],
    ['rubbish.pem', 'cert.pem', 'key.pem', /--ca-file must be PEM, got "/],
    ['broken.pem', 'cert.pem', 'key.pem', /--ca-file must hold certificates/],
    ['ca.pem', 'rubbish.pem', 'key.pem', /--cert-file must be PEM/],
    ['ca.pem', 'broken.pem', 'key.pem', /--cert-file must hold a certificate/],
    ['ca.pem', 'cert.pem', 'absent.pem', /--key-file must be a file that can be read/],
    ['ca.pem', 'cert.pem', 'other.pem', /--key-file must be the key of --cert-file/],
  ]
  for (const [ca, cert, key, line] of rows) {
    const { code, err } = await run(ca, cert, key).ended
    t.equal(code, 2, `${ca} ${cert} ${key}`)
    const lines = errorLines(err)
    t.equal(lines.length, 1, err)
    t.match(lines[0], line)
  }

  const good = run('ca.pem', 'cert.pem', 'key.pem')
  await eventually('it runs', SOON_MS, () => good.err().includes('"msg":"running"'))
  const { request } = await import('node:https')
  const ask = (tls: object): Promise<number | string> =>
    new Promise(resolve => {
      const options = { host: '127.33.3.1', port: 51_008, path: '/nothing', ca: pair.cert, ...tls }
      request(options, response => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
        .on('error', error => resolve(error.message))
        .end()
    })
  t.equal(await ask({ cert: pair.cert, key: pair.key }), 503, 'a client of the authority is heard')
  t.type(await ask({}), 'string', 'one without a certificate is not')
  const stranger = await certificateFor('127.33.3.9')
  t.type(await ask({ cert: stranger.cert, key: stranger.key }), 'string', 'nor is a stranger')
  good.kill('SIGTERM')
  t.equal((await good.ended).code, 0)
})

t.test('an agent that is polled, then one that pushes', async t => {
  const folder = t.testdir()
  const api = await startApi({ host: '127.33.5.1', port: 0, clock: systemClock, log: silentLog })
  t.teardown(() => api.stop())
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(api.url, 'w', api.addClient('wrapper')))
  const operator = api.addClient('operator')
  const post = async (path: string, body: object): Promise<void> => {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${operator}` }
    const answer = await fetch(api.url + path, {
      ...{ method: 'POST', headers, body: JSON.stringify(body) },
    })
    t.equal(answer.status, 201)
  }
  for (const n of [1, 2])
    await post('/api/v1/nodes', {
      metadata: { name: `n${n}` },
      status: { addresses: [{ type: 'InternalIP', address: `10.9.0.${n}` }] },
    })
  await post('/api/v1/namespaces/default/services', {
    metadata: { name: 'web' },
    spec: { ports: [{ port: 80 }] },
  })
  await post(SLICES, {
    metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: [1, 2].map(n => ({ addresses: [`10.0.0.${n}`], nodeName: `n${n}` })),
  })

  const asked: string[] = []
  const health = { isUp: false, pushes: false }
  const streams = new Set<ServerResponse>()
  // SuperEdge's agent since v0.8.2: it speaks of addresses, and knows no stream.
  const report = (): string =>
    JSON.stringify({ '10.9.0.1': { normal: true }, '10.9.0.2': { normal: health.isUp } })
  const agent = createServer((request, response) => {
    asked.push(request.url!)
    if (!health.pushes || !request.url!.includes('stream=1')) return void response.end(report())
    streams.add(response)
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(`event: snapshot\ndata: ${report()}\n\n`)
  })
  await new Promise<void>(resolve => agent.listen(0, '127.33.5.1', resolve))
  t.teardown(() => {
    agent.close()
    agent.closeAllConnections()
  })
  const address = `http://127.33.5.1:${(agent.address() as AddressInfo).port}/localinfo`
  const wrapper = startBundle(t, script, [
    ...['wrapper', '--node-name=n1', `--kubeconfig=${kubeconfig}`, `--state-dir=${folder}/s`],
    ...['--bind-address=127.33.5.1:51008', '--status-address=127.33.5.1:51009'],
    `--service-autonomy-enhancement=enabled=true,interval=1,address=${address}`,
  ])
  const isShown = (what: string): Promise<unknown> =>
    eventually(`the slice shows ${what}`, SOON_MS, async () => {
      const answer = await get(`http://127.33.5.1:51008${SLICES}/web-1`)
      return answer?.status === 200 && nodesOf(JSON.parse(answer.text) as Slice) === what
    })
  const source = async (): Promise<unknown> => {
    const answer = await get('http://127.33.5.1:51009/status')
    return (JSON.parse(answer!.text) as WrapperStatusView).health.source
  }

  await isShown('n1')
  t.equal(await source(), 'poll')
  await eventually('it says whom it asks about', SOON_MS, () =>
    asked.some(url => new URL(url, address).searchParams.get('interest') === 'n2'),
  )
  health.isUp = true
  await isShown('n1,n2')
  health.pushes = true
  await eventually('it hears the stream', SOON_MS, () => streams.size > 0)
  for (const stream of streams)
    stream.write('event: change\ndata: {"10.9.0.2":{"normal":false}}\n\n')
  await isShown('n1')
  t.equal(await source(), 'push')
  wrapper.kill('SIGTERM')
  t.equal((await wrapper.ended).code, 0)
})

t.test('--help shows the options, and a bad option is exit code 2 and one line', async t => {
  const { code, out, err } = await startBundle(t, script, ['wrapper', '--help']).ended
  t.strictSame([code, err], [0, ''])
  for (const word of ['--bind-address', '--notify-channel-size', 'explain', 'status'])
    t.match(out, word)
  const rows: [flag: string, line: RegExp][] = [
    [
      '--bind-address=0.0.0.0:51006',
      /--bind-address must be loopback while --insecure is true, got/,
    ],
    ['--bind-address=51006', /--bind-address must be an IP address and a port such as /],
    ['--notify-channel-size=many', /--notify-channel-size must be a whole number from /],
    ['--insecure=false', /--ca-file \(default\) must be given when --insecure is false/],
    ['--no-such-flag', /unknown option '--no-such-flag'/],
    [
      '--service-autonomy-enhancement=enabled=true,interval=0',
      /--service-autonomy-enhancement: interval must be from 1 to 3600 seconds, got "0"/,
    ],
  ]
  for (const [flag, line] of rows) {
    const bad = await startBundle(t, script, ['wrapper', '--node-name=n1', flag]).ended
    t.equal(bad.code, 2, flag)
    const lines = errorLines(bad.err)
    t.equal(lines.length, 1, bad.err)
    t.match(lines[0], line)
  }
})

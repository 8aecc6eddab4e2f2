// SPDX-License-Identifier: Apache-2.0
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import type { DoctorFacts } from '../../cli/doctor-facts.js'
import { diagnose } from '../../cli/doctor-findings.js'
import { rightsOf } from '../../cli/doctor-rights.js'
import type { Finding, Level } from '../../cli/finding.js'
import { lazyCommands } from '../../cli/lazy-commands.js'
import { makeCertificate } from '../../sandbox/kubelet-server.js'
import { kubeconfigText } from '../../sandbox/zone-objects.js'
import { serveUntilEnd } from '../../testkit/http/serve-until-end.js'
import { testApi } from '../../testkit/kube/api-client.js'
import { runCli } from '../../testkit/run-cli.js'
import { statusFixture } from '../../testkit/zone/status-fixture.js'

t.setTimeout(180_000)

const NAMES = ['node-1', 'node-2', 'node-3', 'node-4', 'node-5']
const yes = <T>(value: T) => ({ ok: true, value }) as const
const no = (reason: string) => ({ ok: false, reason }) as const
const right = { verb: 'patch', group: '', resource: 'nodes', subresource: 'status' }
const peer = { name: 'node-2', address: '10.0.0.2' }

const WELL: DoctorFacts = {
  url: 'http://127.0.0.1:51005',
  agent: yes(statusFixture()),
  api: yes({ aheadMs: 200 }),
  account: yes('system:serviceaccount:edge-system:edge-health-agent'),
  rights: [{ right, allowed: yes(true) }],
  members: yes(NAMES),
  peers: [{ ...peer, short: yes(404), long: yes(404) }],
  metrics: { url: 'http://0.0.0.0:51009/metrics', port: 51_009, answer: yes(200) },
  ports: [51_005],
  ephemeral: yes({ from: 32_768, to: 60_999, reserved: '8080,51005-51009' }),
  link: yes({ name: 'eth0', mtu: 1_500 }),
  kubelet: yes(200),
  kubeletUrl: 'http://127.0.0.1:10248/healthz',
  ...{ namespace: 'edge-system', keySecret: 'edge-health-keys' },
}

const status = (...given: Parameters<typeof statusFixture>) => ({
  agent: yes(statusFixture(...given)),
})

type Row = readonly [
  claim: string,
  change: Partial<DoctorFacts>,
  check: string,
  level: Level,
  saw: RegExp,
]

const { peer: peerOf2, probe } = statusFixture().nodes[1]!
const keyless = { ...statusFixture({}, { keys: { state: 'missing', trouble: null, set: null, sharedBy: 0 } }), nodes: [] } as const // prettier-ignore
const unknown = { ...keyless, roster: { source: 'none', ageSeconds: null, trouble: null }, peerListener: { address: '', trouble: 'not open yet' } } as const // prettier-ignore
const refusing = { peer: { ...peerOf2!, state: 'unknown', keySet: null, isKeyRefused: true } } as const // prettier-ignore
const foreign = statusFixture({ 2: refusing, 3: refusing, 4: refusing, 5: refusing }, { keys: { state: 'ok', trouble: null, set: '1a2b3c4d', sharedBy: 1 } }) // prettier-ignore
const ROWS: readonly Row[] = [
  ['no agent answers', { agent: no('no agent answers at X: refused') }, 'agent', 'fail', /refused/],
  ['a stage fails', status({}, { stages: [{ name: 'check', state: 'failing', rounds: 1, lastAt: null, detail: 'no ca' }] }), 'agent', 'fail', /stage check fails: no ca/], // prettier-ignore
  ['the port is taken', status({}, { peerListener: { address: '', trouble: 'EADDRINUSE' } }), 'port', 'fail', /EADDRINUSE/], // prettier-ignore
  ['the port may be taken', { ephemeral: yes({ from: 1, to: 65_535, reserved: '51006' }) }, 'reserved ports', 'warn', /can take 51005/], // prettier-ignore
  ['no such file', { ephemeral: no('no /proc') }, 'reserved ports', 'warn', /no \/proc/],
  ['no key', status({}, { keys: { state: 'missing', trouble: 'no Secret', set: null, sharedBy: 0 } }), 'key', 'fail', /no Secret/], // prettier-ignore
  ['a bad key', status({}, { keys: { state: 'ok', trouble: 'too short', set: 'a', sharedBy: 5 } }), 'key', 'fail', /last good keys are used: too short/], // prettier-ignore
  ['keys differ', status({ 2: { peer: { ...peerOf2!, keySet: 'other' } } }), 'key', 'warn', /another set: node-2/], // prettier-ignore
  ['no key: the roster is not to blame', { agent: yes(keyless) }, 'roster', 'ok', /^5 members, as/],
  ['no key: members are counted', { agent: yes(keyless), members: yes(NAMES.slice(1)) }, 'roster', 'fail', /counts 5 members, and the Nodes name node-2, /], // prettier-ignore
  ['no key, and nobody says why', { agent: yes(keyless) }, 'key', 'fail', /^no usable key, so nothing is judged$/], // prettier-ignore
  ['peers refuse the key', { agent: yes(foreign) }, 'key', 'fail', /key set 1a2b3c4d is shared by 1 of 5 members, and signatures are refused; not shared by node-2, node-3, node-4, node-5/], // prettier-ignore
  ['a full disk', status({}, { disk: { path: '/state', trouble: 'heartbeat: ENOSPC' } }), 'disk', 'fail', /^\/state cannot keep heartbeat: ENOSPC; votes go on/], // prettier-ignore
  ['no apiserver', { api: no('ETIMEDOUT') }, 'apiserver', 'fail', /ETIMEDOUT; the agent says: cloud link up/], // prettier-ignore
  ['a clock that is wrong', { api: yes({ aheadMs: -31_000 }) }, 'clock', 'fail', /31 s behind/],
  ['a clock that is off', { api: yes({ aheadMs: 5_000 }) }, 'clock', 'warn', /5 s ahead of/],
  ['no clock', { api: yes({ aheadMs: null }) }, 'clock', 'warn', /shows no time/],
  ['a right is missing', { rights: [{ right, allowed: yes(false) }] }, 'rbac', 'fail', /edge-health-agent may not patch nodes\/status$/], // prettier-ignore
  ['nobody says', { rights: [{ right, allowed: no('404') }] }, 'rbac', 'warn', /could not be asked: 404/], // prettier-ignore
  ['nothing is allowed', { rights: [{ right, allowed: no('403') }], members: { ...no('GET nodes: 403 Forbidden'), status: 403 } }, 'rbac', 'fail', /^not even this is allowed: GET nodes: 403/], // prettier-ignore
  ['nobody knows the token', { rights: [{ right, allowed: no('401') }], members: { ...no('GET nodes: 401'), status: 401 } }, 'rbac', 'fail', /^the credentials are refused: GET nodes: 401/], // prettier-ignore
  ['no metrics there', { metrics: { url: 'http://x:1/metrics', port: 1, answer: no('ECONNREFUSED') } }, 'metrics', 'fail', /^http:\/\/x:1\/metrics: ECONNREFUSED/], // prettier-ignore
  ['somebody else asks', { account: yes('admin') }, 'account', 'warn', /asked as admin/],
  ['no policy', status({}, { confinement: { state: 'no', reason: 'no policy is in force', at: null } }), 'policies', 'warn', /no policy/], // prettier-ignore
  ['not asked yet', status({}, { confinement: { state: 'unknown', reason: 'not asked yet', at: null } }), 'policies', 'warn', /not asked/], // prettier-ignore
  ['no roster: no listener yet', { agent: yes(unknown) }, 'port', 'warn', /not open yet/],
  ['no roster, no key', { agent: yes(unknown) }, 'key', 'fail', /^no usable key/],
  ['no roster', status({}, { roster: { source: 'none', ageSeconds: null, trouble: null } }), 'roster', 'fail', /not known yet/], // prettier-ignore
  ['a bad ConfigMap', status({}, { roster: { source: 'api', ageSeconds: 1, trouble: 'ConfigMap x' } }), 'roster', 'fail', /ConfigMap x/], // prettier-ignore
  ['from disk', status({}, { roster: { source: 'disk', ageSeconds: 1, trouble: null } }), 'roster', 'warn', /from disk/], // prettier-ignore
  ['rosters differ', { members: yes([...NAMES.slice(1), 'node-9']) }, 'roster', 'fail', /does not know node-9 and counts node-1,/], // prettier-ignore
  ['nothing to compare', { members: no('403') }, 'roster', 'warn', /could not be compared.*403/],
  ['a peer refuses', status({ 2: { peer: { ...peerOf2!, state: 'refused', trouble: 'refused: wrong-zone' } } }), 'agreement', 'warn', /node-2 \(refused: wrong-zone\)/], // prettier-ignore
  ['a peer is out of reach', { peers: [{ ...peer, short: no('ETIMEDOUT'), long: undefined }] }, 'peers', 'fail', /node-2 \(10\.0\.0\.2: ETIMEDOUT\)/], // prettier-ignore
  ['long packets vanish', { peers: [{ ...peer, short: yes(404), long: 'timeout' }] }, 'mtu', 'fail', /short requests pass and long ones do not: node-2; eth0 has 1500/], // prettier-ignore
  ['no interface', { link: no('no interface of this machine has 10.0.0.1') }, 'mtu', 'warn', /no interface/], // prettier-ignore
  ['the kubelet is bad', { kubelet: no('it answers 500'), ...status({ 1: { kubelet: 'bad' } }) }, 'kubelet', 'fail', /answers 500; the agent says: bad/], // prettier-ignore
  ['the kubelet does not say', { kubelet: no('ECONNREFUSED') }, 'kubelet', 'warn', /ECONNREFUSED/],
  ['the trap of the default', status({}, { zone: { name: '', members: 5, rule: 'all', trouble: 'no zone is configured, so' } }), 'zone', 'warn', /no zone is configured/], // prettier-ignore
  ['a zone of two', status({}, { zone: { name: 'a', members: 2, rule: 'label', trouble: null } }), 'zone', 'warn', /2 members/], // prettier-ignore
]

t.test('each finding: what was seen, and what to do', t => {
  const well = diagnose(WELL)
  t.strictSame(
    well.filter(({ level }) => level !== 'ok'),
    [],
    'all is well',
  )
  t.ok(well.every(({ fix }) => fix === null))
  t.equal(new Set(well.map(({ check }) => check)).size, well.length, 'each check once')
  for (const [claim, change, check, level, saw] of ROWS) {
    const findings = diagnose({ ...WELL, ...change })
    const found = findings.find(each => each.check === check)
    t.equal(found?.level, level, claim)
    t.match(found?.saw, saw, claim)
    t.equal((found?.fix ?? '').length > 5, level !== 'ok', `${claim}: it says what to do`)
  }
  const lost = diagnose({ ...WELL, agent: yes(unknown) })
  t.notOk(lost.some(({ check }) => check === 'zone'))
  t.match(lost.find(({ check }) => check === 'key')?.fix, /^see apiserver and rbac below; /)
  t.notOk(diagnose({ ...WELL, agent: yes(keyless) }).some(({ check }) => check === 'agreement'))
  const dead = diagnose({
    ...WELL,
    ...status({ 2: { verdict: 'unhealthy', class: 'dead', probe, peer: { ...peerOf2!, state: 'silent' } } }), // prettier-ignore
    peers: [{ ...peer, short: no('ETIMEDOUT'), long: undefined }],
  })
  t.ok(
    dead.every(({ level }) => level === 'ok'),
    'that a dead node does not answer is no finding',
  )
  t.end()
})

t.test('what is asked for is what deploy/base allows', t => {
  interface Role {
    readonly kind: string
    readonly metadata: { readonly namespace?: string }
    readonly rules?: readonly Record<'apiGroups' | 'resources' | 'verbs' | 'resourceNames', readonly string[] | undefined>[] // prettier-ignore
  }
  const path = join(import.meta.dirname, '..', '..', 'deploy', 'base', 'agent-rbac.yaml')
  const roles = parseAllDocuments(readFileSync(path, 'utf8')).map(each => each.toJS() as Role)
  const allowed = roles.flatMap(({ metadata: { namespace = '' }, rules = [] }) =>
    rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [''] }) =>
      verbs!.flatMap(verb =>
        resources!.flatMap(resource =>
          resourceNames.map(name => [verb, apiGroups![0]!, resource, namespace, name].join(' ')),
        ),
      ),
    ),
  )
  const asked = rightsOf('edge-system', 'edge-health-keys').map(
    ({ verb, group, resource, subresource, namespace = '', name = '' }) =>
      [verb, group, subresource === undefined ? resource : `${resource}/${subresource}`, namespace, name].join(' '), // prettier-ignore
  )
  t.strictSame([...asked].sort(), [...allowed].sort())
  t.end()
})

/** An HTTP server on a port of 127.0.0.1. */
const serve = async (
  t: Test,
  answer: (path: string, method: string) => readonly [status: number, body: string] | undefined,
  tls?: { readonly cert: string; readonly key: string },
): Promise<number> => {
  const listener: RequestListener = (request, response) => {
    const said = answer(request.url ?? '', request.method ?? '')
    if (said === undefined) return
    response.writeHead(said[0], { 'content-type': 'application/json' })
    response.end(said[1])
  }
  const server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener)
  return serveUntilEnd(t, server)
}

const findingsOf = (out: string): readonly Finding[] =>
  (JSON.parse(out) as { findings: readonly Finding[] }).findings

t.test('a node, its agent, its kubelet, a peer and an apiserver are really asked', async t => {
  const bed = await testApi()
  t.teardown(() => bed.api.stop())
  const own = statusFixture({ 2: { address: '127.0.0.1' } }, { self: { name: 'node-1', address: '127.0.0.1' } }) // prettier-ignore
  const nodes = own.nodes.filter(({ name }) => name === 'node-1' || name === 'node-2')
  for (const { name, address } of nodes) {
    const metadata = { name }
    await bed.ask('POST /api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata })
    const body = { status: { addresses: [{ type: 'InternalIP', address }] } }
    const merge = { 'content-type': 'application/merge-patch+json' }
    await bed.ask(`PATCH /api/v1/nodes/${name}/status`, body, merge)
  }
  const agent = await serve(t, () => [200, JSON.stringify({ ...own, nodes })])
  const kubelet = await serve(t, () => [200, 'ok'])
  // It answers what is short, and never what is long.
  const hole = await serve(t, path => (path.length > 100 ? undefined : [404, '']))
  const kubeconfig = join(t.testdir(), 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(bed.api.url, 'cli', bed.api.addClient('cli')))
  const files = {
    '/proc/sys/net/ipv4/ip_local_port_range': '32768\t60999\n',
    '/proc/sys/net/ipv4/ip_local_reserved_ports': '\n',
    '/sys/class/net/lo/mtu': '65536\n',
  }
  const argv = (peerPort: number) =>
    `doctor --agent http://127.0.0.1:${agent} --port ${peerPort} --local-port ${agent} --kubeconfig ${kubeconfig} --self-report-url http://127.0.0.1:${kubelet}/healthz`.split(' ') // prettier-ignore
  const run = (more: readonly string[]) => runCli(more, { files, parts: { lazyCommands } })
  const asked = await run([...argv(hole), '-o', 'json'])
  t.equal(asked.code, 1, asked.err)
  const by = (check: string): Finding => findingsOf(asked.out).find(each => each.check === check)!
  t.match(by('agent'), { level: 'ok', saw: /on node-1: zone shanghai/ })
  t.match(by('mtu'), { level: 'fail', saw: /do not: node-2; lo has 65536/ })
  t.match(by('kubelet'), { level: 'ok' })
  t.match(by('apiserver'), { level: 'ok' })
  t.match(by('roster'), { level: 'ok', saw: /^2 members/ })
  t.match(by('clock'), { level: 'ok' })
  const got = bed.api.requests.filter(({ verb, resource }) => verb === 'get' && resource === 'configmaps') // prettier-ignore
  t.strictSame(got, [], 'the account may list and watch ConfigMaps, and get none')
  t.match(by('rbac'), { level: 'warn', saw: /could not be asked/ }, 'the embedded API has no such review') // prettier-ignore
  t.match(by('reserved ports'), { level: 'warn', saw: /60999$/ })

  const well = await serve(t, () => [404, ''])
  const text = await run(argv(well))
  t.equal(text.code, 0, text.out)
  t.match(text.out, /^ok +peers +1 of 1 answer at port \d+$/m)
  t.match(text.out, /^warn +reserved ports .*\n +→ echo 'net\.ipv4/m)
  t.match(text.out, /\n0 fail, \d warn, \d+ ok\n$/)

  const cert = '--metrics-cert-file /c --metrics-key-file /k'.split(' ')
  const pair = await makeCertificate('n1', '127.0.0.1')
  const tls = await serve(t, () => [200, ''], pair)
  const shown = await run([...argv(well), '--metrics-address', `127.0.0.1:${tls}`, ...cert])
  t.match(
    shown.out,
    new RegExp(`^ok +metrics +served at https://127\\.0\\.0\\.1:${tls}/metrics$`, 'm'),
  )

  const nobody = await run(['doctor', '--agent', 'http://127.0.0.1:1', '--kubeconfig', '/none', '-o', 'json']) // prettier-ignore
  t.equal(nobody.code, 1)
  t.match(findingsOf(nobody.out)[0], { check: 'agent', level: 'fail', saw: /no agent answers/ })
  t.match(await run(['doctor', '--prot', '1']), { code: 2, err: /unknown option '--prot' \(did you mean --port\?\)/ }) // prettier-ignore
  for (const [name, own] of [
    ['doctor', '--agent'],
    ['bundle', '--file'],
  ] as const) {
    // prettier-ignore
    const { out: help } = await run([name, '--help'])
    t.match(help, /Exit codes: 0 (nothing fails|done)/)
    t.ok(help.split('\n').length < 64, `${name}: a screen or two`)
    const order = [own, '--output', '-h, --help', "The agent's options", '--port', 'Exit codes']
    t.strictSame(
      [...order].sort((a, b) => help.indexOf(a) - help.indexOf(b)),
      order,
      name,
    )
    t.notMatch(help, /check-period/)
  }
  t.match(await run([...argv(well), '--check-period', 'never']), { code: 2, err: /--check-period must/ }) // prettier-ignore
})

t.test('an apiserver that refuses everything, and a port that somebody else has', async t => {
  for (const code of [403, 401]) {
    const port = await serve(
      t,
      path =>
      path.startsWith('/livez') ? [200, 'ok'] : [code, JSON.stringify({ kind: 'Status', code, message: 'no' })], // prettier-ignore
    )
    const line = `doctor --agent http://127.0.0.1:1 --master-url http://127.0.0.1:${port} --metrics-address 127.0.0.1:${port} -o json`
    const { out, code: exit } = await runCli(line.split(' '), { parts: { lazyCommands } })
    t.equal(exit, 1)
    const by = (check: string) => findingsOf(out).find(each => each.check === check)
    t.match(by('rbac'), {
      level: 'fail',
      saw: code === 403 ? /^not even this/ : /^the credentials/,
    })
    t.match(by('metrics'), {
      level: 'fail',
      saw: new RegExp(`:${port}/metrics: it answers ${code}$`),
    })
  }
})

t.test('rights are asked of an apiserver that has reviews', async t => {
  const seen: string[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', more => (text += String(more)))
    request.on('end', () => {
      const isReview = request.url?.includes('selfsubjectaccessreviews') === true
      const body = text === '' ? {} : (JSON.parse(text) as { spec?: { resourceAttributes: { resource: string; verb: string } } }) // prettier-ignore
      const { resource = '', verb = '' } = body.spec?.resourceAttributes ?? {}
      if (isReview) seen.push(`${verb} ${resource}`)
      const allowed = resource !== 'events'
      const userInfo = { username: 'system:serviceaccount:edge-system:edge-health-agent' }
      if (request.url === '/livez') return void response.end('ok')
      response.writeHead(isReview || request.url?.includes('selfsubjectreviews') === true ? 201 : 404, { 'content-type': 'application/json' }) // prettier-ignore
      response.end(JSON.stringify({ status: { allowed, userInfo } }))
    })
  })
  const port = await serveUntilEnd(t, server)
  const line = `doctor --agent http://127.0.0.1:1 --master-url http://127.0.0.1:${port} -o json`
  const { out } = await runCli(line.split(' '), { parts: { lazyCommands } })
  const rbac = findingsOf(out).find(({ check }) => check === 'rbac')
  t.match(rbac, {
    level: 'fail',
    saw: 'system:serviceaccount:edge-system:edge-health-agent may not create events.events.k8s.io in default', // prettier-ignore
  })
  t.equal(seen.length, rightsOf('n', 'k').length)
  t.notOk(findingsOf(out).some(({ check }) => check === 'account'))
})

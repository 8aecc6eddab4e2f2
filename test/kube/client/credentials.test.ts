// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import { CredentialsError } from '../../../core/errors.js'
import type { KubeApi } from '../../../agent/ports/kube-api.js'
import { build, never, ok } from '../../../testkit/kube/built-kube.js'
import {
  refusal,
  startScripted,
  type ScriptedServer,
  type Step,
} from '../../../testkit/http/scripted-server.js'

interface Pair {
  readonly cert: string
  readonly key: string
}

const makeCertificate = async (name: string, authority?: Pair): Promise<Pair> => {
  const made = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: authority === undefined },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 7, ip: '127.0.0.1' },
          { type: 2, value: 'kube.test' },
        ],
      },
    ],
    ...(authority === undefined ? {} : { ca: authority }),
  })
  return { cert: made.cert, key: made.private }
}

const authority = await makeCertificate('authority')
const serverPair = await makeCertificate('server', authority)

const startTls = async (t: Test): Promise<ScriptedServer> => {
  const server = await startScripted({
    ...serverPair,
    ca: authority.cert,
    requestCert: true,
    rejectUnauthorized: false,
  })
  t.teardown(() => server.close())
  return server
}

const kubeconfig = (server: string, cluster: object, user: object): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  })

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** Client of a kubeconfig in a new folder with these files. */
const withConfig = (t: Test, files: Record<string, string>) => {
  const folder = t.testdir(files)
  const built = build({ kubeconfig: join(folder, 'config'), environment: process.env })
  t.teardown(() => built.api.close())
  return { folder, ...built }
}

t.test('kubeconfig: ways to be believed', async t => {
  const client = await makeCertificate('client-1', authority)
  const server = await startTls(t)
  const ca = { 'certificate-authority-data': base64(authority.cert) }
  const file = { 'certificate-authority': 'ca.crt' }
  const { api: none } = build({
    masterUrl: server.url,
    environment: {},
    serviceAccountFolder: '/nonexistent',
  })
  t.teardown(() => none.close())
  await t.rejects(
    none.ping(never),
    { code: 'KUBE_UNREACHABLE' },
    'an unknown authority is not trusted',
  )
  const rows: [
    why: string,
    cluster: object,
    user: object,
    header: string | undefined,
    cn?: string,
  ][] = [
    ['token', ca, { token: 'secret' }, 'Bearer secret'],
    ['token file, beside the kubeconfig', file, { tokenFile: 'token' }, 'Bearer from-file'],
    [
      'client certificate',
      ca,
      { 'client-certificate-data': base64(client.cert), 'client-key-data': base64(client.key) },
      undefined,
      'client-1',
    ],
    [
      'client certificate files',
      file,
      { 'client-certificate': 'client.crt', 'client-key': 'client.key' },
      undefined,
      'client-1',
    ],
    ['name and password', ca, { username: 'u', password: 'p' }, `Basic ${base64('u:p')}`],
    ['no verification', { 'insecure-skip-tls-verify': true }, { token: 'secret' }, 'Bearer secret'],
    [
      'another server name',
      { ...ca, 'tls-server-name': 'kube.test' },
      { token: 'secret' },
      'Bearer secret',
    ],
  ]
  for (const [why, cluster, user, header, cn] of rows) {
    const { api } = withConfig(t, {
      config: kubeconfig(server.url, cluster, user),
      token: 'from-file\n',
      'ca.crt': authority.cert,
      'client.crt': client.cert,
      'client.key': client.key,
    })
    server.script(ok, ok)
    await api.getNode('n1', never)
    await api.getNode('n1', never)
    t.equal(server.asked.at(-1)!.headers.authorization, header, why)
    t.equal(server.asked.at(-1)!.client, cn, `${why}: certificate`)
  }
  t.equal(server.connections, rows.length + 1, 'each client used one connection')
  const wrong = withConfig(t, {
    config: kubeconfig(server.url, { ...ca, 'tls-server-name': 'other.test' }, {}),
  })
  await t.rejects(
    wrong.api.ping(never),
    { code: 'KUBE_UNREACHABLE' },
    'another name is another server',
  )
  const as = withConfig(t, { config: kubeconfig(server.url, ca, { token: 't', as: 'someone' }) })
  server.script(ok)
  await as.api.getNode('n1', never)
  t.equal(server.asked.at(-1)!.headers['impersonate-user'], 'someone')
})

t.test(
  'a replaced client certificate: new connections carry it, half a pair changes nothing',
  async t => {
    const [one, two] = await Promise.all([
      makeCertificate('one', authority),
      makeCertificate('two', authority),
    ])
    const server = await startTls(t)
    const user = { 'client-certificate': 'c.crt', 'client-key': 'c.key' }
    const { api, clock, folder, log } = withConfig(t, {
      config: kubeconfig(
        server.url,
        { 'certificate-authority-data': base64(authority.cert) },
        user,
      ),
      'c.crt': one.cert,
      'c.key': one.key,
    })
    const asWhom = async (): Promise<string | undefined> => {
      server.script(ok)
      await api.getNode('n1', never)
      return server.asked.at(-1)!.client
    }
    t.equal(await asWhom(), 'one')
    writeFileSync(join(folder, 'c.crt'), two.cert)
    await clock.advance(11_000)
    t.equal(await asWhom(), 'one')
    t.match(log.lines.at(-1), { level: 'warn', fields: { error: /broken certificate/ } })
    writeFileSync(join(folder, 'c.key'), two.key)
    await clock.advance(11_000)
    t.equal(await asWhom(), 'two')
    t.match(log.lines.at(-1), { level: 'info' })
    await clock.advance(11_000)
    t.equal(await asWhom(), 'two')
    t.equal(server.connections, 2, 'one connection for each certificate')
  },
)

t.test('a service account: its token is followed, and dropped over plain http', async t => {
  const server = await startTls(t)
  const folder = t.testdir({ token: 'first', 'ca.crt': authority.cert })
  const environment = {
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: String(server.port),
  }
  const { api, clock, log } = build({ environment, serviceAccountFolder: folder })
  t.teardown(() => api.close())
  const saying = async (...steps: Step[]): Promise<string | undefined> => {
    server.script(...steps)
    await api.getNode('n1', never)
    return server.asked.at(-1)!.headers.authorization
  }
  t.equal(await saying(ok), 'Bearer first')
  writeFileSync(join(folder, 'token'), 'second')
  t.equal(await saying(ok), 'Bearer first', 'files are not read for each request')
  await clock.advance(10_000)
  t.equal(await saying(ok), 'Bearer second', 'but in time')
  rmSync(join(folder, 'token'))
  await clock.advance(10_000)
  t.equal(await saying(ok), 'Bearer second', 'a file that is missing for a moment is not missed')
  t.match(log.lines.at(-1), { level: 'warn', fields: { error: /token/ } })
  writeFileSync(join(folder, 'token'), 'third')
  await clock.advance(2_000)
  t.equal(await saying(refusal(401, 'Unauthorized'), ok), 'Bearer third', '401, then success')
  server.script(refusal(401, 'Unauthorized'))
  await clock.advance(2_000)
  await t.rejects(
    api.getNode('n1', never),
    { code: 'KUBE_STATUS', status: 401 },
    'nothing new: no second try',
  )
  t.equal(server.connections, 1)

  const http = await startScripted()
  const over = build({ masterUrl: http.url, environment, serviceAccountFolder: folder })
  t.teardown(async () => {
    await over.api.close()
    await http.close()
  })
  http.script(ok)
  await over.api.getNode('n1', never)
  t.equal(http.asked[0]!.headers.authorization, undefined)
})

t.test('several kubeconfigs are one: of two entries with one name the first counts', async t => {
  const server = await startScripted()
  t.teardown(() => server.close())
  const whole = JSON.parse(kubeconfig(server.url, {}, { tokenFile: 'token' })) as Record<string, unknown> // prettier-ignore
  const { contexts, users, clusters } = whole
  const folder = t.testdir({
    first: JSON.stringify({ contexts }),
    second: {
      config: JSON.stringify({ users, 'current-context': 'x' }),
      token: 'beside-the-second',
    },
    third: JSON.stringify({ clusters, users: [{ name: 'u', user: { token: 'third' } }], 'current-context': 'z' }), // prettier-ignore
  })
  const paths = ['first', 'gone', 'second/config', 'third'].map(name => join(folder, name))
  const { api } = build({ kubeconfig: paths, environment: {} })
  t.teardown(() => api.close())
  server.script(ok)
  await api.getNode('n1', never)
  t.equal(server.asked[0]!.headers.authorization, 'Bearer beside-the-second')

  const ask = async (...names: readonly string[]) => {
    const { api } = build({ kubeconfig: names.map(name => join(folder, name)), environment: {} })
    await api.getNode('n1', never).finally(() => api.close())
  }
  await t.rejects(ask('first'), { message: /first: it has no current-context, and none is given/ })
  await t.rejects(ask('first', 'second/config'), {
    message: /first:.*config: it has no cluster "c"/,
  })
  await t.rejects(ask('gone', 'gone too'), { message: /^cannot read the kubeconfig file .*gone:/ }) // prettier-ignore
})

t.test('a kubeconfig that is replaced, and a master URL that wins over it', async t => {
  const [one, two] = [await startScripted(), await startScripted(undefined, '127.0.0.2')]
  t.teardown(() => Promise.all([one.close(), two.close()]))
  const { api, clock, folder } = withConfig(t, { config: kubeconfig(one.url, {}, { token: 'a' }) })
  one.script(ok)
  await api.getNode('n1', never)
  writeFileSync(join(folder, 'config'), kubeconfig(`${two.url}/prefix/`, {}, { token: 'b' }))
  await clock.advance(10_000)
  two.script(ok, ok)
  await api.getNode('n1', never)
  t.match(two.asked[0], { path: '/prefix/api/v1/nodes/n1', headers: { authorization: 'Bearer b' } })
  const over = build({ kubeconfig: join(folder, 'config'), masterUrl: one.url, environment: {} })
  t.teardown(() => over.api.close())
  one.script(ok)
  await over.api.getNode('n1', never)
  t.match(one.asked[1], { path: '/api/v1/nodes/n1', headers: { authorization: 'Bearer b' } })
})

t.test('exec plugins', async t => {
  const client = await makeCertificate('plugged', authority)
  const server = await startTls(t)
  const ca = { 'certificate-authority-data': base64(authority.cert) }
  const script = `
    const fs = require('fs'); const dir = __dirname
    const runs = Number(fs.readFileSync(dir + '/runs', 'utf8')) + 1
    fs.writeFileSync(dir + '/runs', String(runs))
    const plan = JSON.parse(fs.readFileSync(dir + '/plan', 'utf8'))
    if (plan.fail) { console.error('first line\\nno ticket'); process.exit(3) }
    if (plan.text) { console.log(plan.text); process.exit(0) }
    const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO)
    const token = plan.cert ? undefined : process.argv[2] + runs + process.env.EXTRA + info.kind
    console.log(JSON.stringify({ apiVersion: info.apiVersion, kind: 'ExecCredential', status: { token, ...plan.status } }))`
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: ['', 't'],
    env: [{ name: 'EXTRA', value: '-x-' }],
  }
  const plugged = (t: Test, plan: object) => {
    const folder = t.testdir({ 'plugin.cjs': script, runs: '0', plan: JSON.stringify(plan) })
    exec.args[0] = join(folder, 'plugin.cjs')
    writeFileSync(join(folder, 'config'), kubeconfig(server.url, ca, { exec }))
    const built = build({
      kubeconfig: join(folder, 'config'),
      environment: { PATH: process.env['PATH'] },
    })
    t.teardown(() => built.api.close())
    const saying = async (...steps: Step[]): Promise<string | undefined> => {
      server.script(...steps)
      await built.api.getNode('n1', never)
      return server.asked.at(-1)!.headers.authorization
    }
    return { folder, saying, ...built }
  }
  await t.test('run once, again when its credential ends, again after 401', async t => {
    const { saying, clock, folder, log } = plugged(t, {
      status: { expirationTimestamp: '2026-01-01T01:00:00Z' },
    })
    t.equal(await saying(ok), 'Bearer t1-x-ExecCredential')
    await clock.advance(3_000_000)
    t.equal(await saying(ok), 'Bearer t1-x-ExecCredential')
    await clock.advance(600_000)
    t.equal(await saying(ok), 'Bearer t2-x-ExecCredential')
    await clock.advance(2_000)
    t.equal(await saying(refusal(401, 'Unauthorized'), ok), 'Bearer t3-x-ExecCredential')
    writeFileSync(join(folder, 'plan'), '{"fail":true}')
    await clock.advance(20_000)
    t.equal(
      await saying(ok),
      'Bearer t3-x-ExecCredential',
      'the last good one, in case it still works',
    )
    t.match(log.lines.at(-1), { level: 'warn', fields: { error: /no ticket/ } })
  })
  await t.test('a client certificate', async t => {
    const { saying } = plugged(t, {
      cert: true,
      status: { clientCertificateData: client.cert, clientKeyData: client.key },
    })
    t.equal(await saying(ok), undefined)
    t.equal(server.asked.at(-1)!.client, 'plugged')
  })
  const broken: [plan: object, message: RegExp][] = [
    [{ fail: true }, /exec plugin .*: it ended with code 3: no ticket$/],
    [{ text: 'hello' }, /it did not print JSON$/],
    [{ text: '{"kind":"Pod"}' }, /its answer.*kind/],
    [{ text: '{"kind":"ExecCredential","status":{}}' }, /neither a token nor/],
    [
      { text: '{"kind":"ExecCredential","status":{"token":["geheim"]}}' },
      /status\.token must be string$/,
    ],
  ]
  for (const [plan, message] of broken) {
    const { api } = plugged(t, plan)
    await t.rejects(api.getNode('n1', never), { code: 'CREDENTIALS', message })
  }
})

t.test('credentials that cannot be used are one clear line in the log', async t => {
  const where = 'https://127.0.0.1:1'
  const rows: [files: Record<string, string>, message: RegExp][] = [
    [{}, /^cannot read the kubeconfig file .*ENOENT/],
    [{ config: ' \n' }, /^the kubeconfig file .* is empty/],
    [{ config: 'a: [' }, /^kubeconfig .*config: /],
    [{ config: '42' }, /^kubeconfig .*: kubeconfig must be Object/],
    [{ config: '{}' }, /has no current-context, and none is given/],
    [
      { config: kubeconfig(where, {}, {}).replace('"cluster":"c"', '"cluster":"d"') },
      /has no cluster "d"/,
    ],
    [{ config: kubeconfig(where, {}, {}).replace('"user":"u"', '"user":"v"') }, /has no user "v"/],
    [{ config: kubeconfig('ftp://x', {}, {}) }, /must be an http or https address/],
    [
      { config: kubeconfig(where, { 'certificate-authority': 'no.crt' }, {}) },
      /certificate authority file .*no\.crt/,
    ],
    [
      { config: kubeconfig(where, { 'certificate-authority-data': base64('x') }, {}) },
      /^broken certificate/,
    ],
    // kubectl refuses these, too; to leave them out would be to ask without a token, or to trust other authorities.
    [
      { config: kubeconfig(where, {}, { token: 12345 }) },
      /kubeconfig: users\.0\.user\.token must be string$/,
    ],
    [
      { config: kubeconfig(where, { 'certificate-authority-data': 5 }, {}) },
      /clusters\.0\.cluster\.certificate-authority-data must be string$/,
    ],
    [
      { config: kubeconfig(where, { 'insecure-skip-tls-verify': 'false' }, {}) },
      /insecure-skip-tls-verify must be boolean$/,
    ],
    [
      { config: kubeconfig(where, { server: 443 }, {}) },
      /clusters\.0\.cluster\.server must be string$/,
    ],
    [{ config: kubeconfig(where, {}, { tokenFile: 'no' }) }, /token file .*ENOENT/],
    [{ config: kubeconfig(where, {}, { token: 'a\u0007b' }) }, /characters that no token has/],
    [{ config: kubeconfig(where, {}, { 'client-certificate': 'c' }) }, /without its key/],
    [{ config: kubeconfig(where, {}, { 'auth-provider': { name: 'gcp' } }) }, /use an exec plugin/],
    [{ config: kubeconfig(where, { 'proxy-url': 'http://p' }, {}) }, /proxy-url/],
    [
      { config: kubeconfig(where, {}, { exec: { command: './nobody' } }) },
      /exec plugin .*nobody.*ENOENT/,
    ],
  ]
  for (const [files, message] of rows) {
    const { api } = withConfig(t, files)
    const error = await api.ping(never).catch((e: unknown) => e)
    t.type(error, CredentialsError)
    t.match((error as Error).message, message)
    t.notMatch((error as Error).message, /\n/, 'one line')
  }
  t.throws(() => build({ environment: {} }), {
    code: 'CREDENTIALS',
    message: /KUBERNETES_SERVICE_HOST/,
  })
  t.throws(() => build({ environment: {}, masterUrl: 'kube:6443' }), { code: 'CREDENTIALS' })
  const folder = t.testdir({})
  mkdirSync(join(folder, 'empty'))
  const pod = { KUBERNETES_SERVICE_HOST: '::1', KUBERNETES_SERVICE_PORT: '1' }
  const { api }: { api: KubeApi } = build({
    environment: pod,
    serviceAccountFolder: join(folder, 'empty'),
  })
  await t.rejects(api.ping(never), { code: 'CREDENTIALS', message: /token file/ })
})

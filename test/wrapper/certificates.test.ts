// SPDX-License-Identifier: Apache-2.0
import { X509Certificate } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import type { RequestListener } from 'node:http'
import https from 'node:https'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { parse } from 'yaml'
import t, { type Test } from 'tap'
import { registerWrapper } from '../../cli/wrapper.js'
import type { ServerTls } from '../../net/listen.js'
import { readServerTls } from '../../wrapper/tls.js'
import { certificateFor } from '../../testkit/certificates.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { openListener } from '../../testkit/http/open-listener.js'
import { runCli, type Ran } from '../../testkit/run-cli.js'

const DAY_MS = 86_400_000
const FILES = ['ca.crt', 'client.crt', 'client.key', 'server.crt', 'server.key']
const load = () => Promise.resolve({ register: registerWrapper })
const lazyCommands = [{ name: 'wrapper', description: 'the wrapper', load }]

const run = (argv: readonly string[], clock?: FakeClock): Promise<Ran> =>
  runCli(['wrapper', 'certificates', ...argv], {
    ...(clock === undefined ? {} : { clock }),
    parts: { lazyCommands },
  })

interface Pair {
  readonly cert: string
  readonly key: string
}

interface Printed {
  readonly clusters: [{ cluster: { server: string; 'certificate-authority': string } }]
  readonly users: [{ user: { 'client-certificate': string; 'client-key': string } }]
}

/** What was printed, read as kube-proxy and the wrapper read it. */
const readAll = (out: string) => {
  const printed = parse(out) as Printed
  const { server, 'certificate-authority': ca } = printed.clusters[0].cluster
  const { 'client-certificate': cert, 'client-key': key } = printed.users[0].user
  const read = (path: string): string => readFileSync(path, 'utf8')
  const flag = (name: string): string => new RegExp(`--${name}=(\\S+)`).exec(out)![1]!
  const files = {
    ...{ caFile: flag('ca-file'), certFile: flag('cert-file'), keyFile: flag('key-file') },
  }
  return {
    server,
    wrapper: readServerTls(files)!,
    client: { ca: read(ca), pair: { cert: read(cert), key: read(key) } },
  }
}

const ask = (url: string, ca: string, pair?: Pair): Promise<number | string> =>
  new Promise(resolve => {
    https
      .request(url, { ca, ...pair, agent: false }, response => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      .on('error', error => resolve((error as NodeJS.ErrnoException).code ?? error.message))
      .end()
  })

/** Whoever has the port: the wrapper, or a squatter. */
const occupy = async (t: Test, tls: ServerTls | undefined, address = '127.0.0.1') => {
  const heard: unknown[] = []
  const handle: RequestListener = (request, response) => {
    heard.push(request.url)
    response.writeHead(204).end()
  }
  const listener = await openListener({ address, handle, tls })
  t.teardown(() => listener.close())
  const host = address.includes(':') ? `[${address}]` : address
  return { url: `https://${host}:${listener.port}`, heard }
}

t.test('FW22: only the wrapper can answer a client that has the printed files', async t => {
  const made = await run(['--dir', join(t.testdir(), 'new')])
  t.match(made, { code: 0, err: '' })
  const { server, wrapper, client } = readAll(made.out)
  t.equal(server, 'https://127.0.0.1:51006')
  const real = await occupy(t, wrapper)
  t.equal(await ask(real.url, client.ca, client.pair), 204)
  const other = await occupy(t, wrapper, '::1')
  t.equal(await ask(other.url, client.ca, client.pair), 204)
  t.equal(await ask(real.url.replace('127.0.0.1', 'localhost'), client.ca, client.pair), 204)

  const second = readAll((await run(['--dir', t.testdir({})])).out)
  const anyClient = { ca: client.ca }
  const squatters: [who: string, tls: ServerTls | undefined, code: RegExp][] = [
    ['plain HTTP', undefined, /EPROTO|ECONNRESET|ERR_SSL/],
    ['its own key', { ...(await certificateFor('127.0.0.1')), ...anyClient }, /SELF_SIGNED|UNABLE/],
    ['an authority of the same name', { ...second.wrapper, ...anyClient }, /SIGNATURE|UNABLE/],
    ["the client's own", { ...client.pair, ...anyClient }, /ERR_TLS_CERT_ALTNAME|PURPOSE/],
  ]
  for (const [who, tls, code] of squatters) {
    const squatter = await occupy(t, tls)
    t.match(await ask(squatter.url, client.ca, client.pair), code, who)
    t.strictSame(squatter.heard, [], `${who} hears nothing`)
  }

  t.type(await ask(real.url, client.ca), 'string', 'no certificate')
  t.type(await ask(real.url, client.ca, second.client.pair), 'string', 'of another authority')
  const { cert, key } = wrapper
  t.type(await ask(real.url, client.ca, { cert, key }), 'string', 'a server is no client')
  t.equal(real.heard.length, 2, 'the wrapper heard its client alone')
})

t.test(
  'its files are readable by their owner, last as long as asked, and no key signs',
  async t => {
    const clock = new FakeClock()
    const dir = join(t.testdir(), 'a', 'b')
    t.equal((await run(['--dir', dir, '--days', '30'], clock)).code, 0)
    t.strictSame(readdirSync(dir).sort(), FILES, 'no key of the authority')
    t.equal(statSync(dir).mode & 0o777, 0o700)
    for (const name of FILES) {
      t.equal(statSync(join(dir, name)).mode & 0o777, 0o600, name)
      if (!name.endsWith('.crt')) continue
      const { validTo, validFrom, ca } = new X509Certificate(readFileSync(join(dir, name)))
      t.equal(Date.parse(validFrom), Math.floor((clock.wall() - DAY_MS) / 1_000) * 1_000, name)
      t.equal(Date.parse(validTo), Math.floor((clock.wall() + 30 * DAY_MS) / 1_000) * 1_000, name)
      t.equal(ca, name === 'ca.crt', name)
    }
  },
)

t.test('bad usage is exit 2, changes nothing, and names option, rule and value', async t => {
  const dir = t.testdir({ open: {}, held: { 'client.key': 'mine' }, file: 'text' })
  chmodSync(join(dir, 'open'), 0o777)
  mkdirSync(join(dir, 'linked'))
  symlinkSync('nowhere', join(dir, 'linked', 'ca.crt'))
  const days = /^edge-health: --days must be a whole number from 1 to 3650, got "/
  const at = (name: string): string[] => ['--dir', join(dir, name)]
  const rows: [argv: string[], err: RegExp][] = [
    [[], /^edge-health: --dir must be given\n$/],
    [['--dir', ''], /^edge-health: --dir must be given\n$/],
    ...['0', '3651', '-1', '1.5', '1e2', 'x', ''].map((text): [string[], RegExp] => [
      [...at('none'), `--days=${text}`],
      days,
    ]),
    [at('file'), /^edge-health: --dir must be a folder that can be used \(EEXIST.*\), got "/],
    [at('file/in'), /^edge-health: --dir must be a folder that can be used \(ENOTDIR/],
    [at('open'), /--dir must be a folder that you own and nobody else may write to, got "/],
    [at('held'), /^edge-health: --dir must have no client.key unless --force is given, got "/],
    [at('linked'), /--dir must have no ca.crt unless --force is given, got "/],
  ]
  for (const [argv, err] of rows)
    t.match(await run(argv), { code: 2, out: '', err }, argv.join(' '))
  t.notOk(existsSync(join(dir, 'none')))
  t.strictSame(readdirSync(join(dir, 'held')), ['client.key'])
  t.equal(readFileSync(join(dir, 'held', 'client.key'), 'utf8'), 'mine')
})

t.test('--force replaces all of them', async t => {
  const dir = t.testdir({ 'ca.crt': 'old', 'other.txt': 'not ours' })
  chmodSync(dir, 0o700)
  writeFileSync(join(dir, 'server.key'), 'old', { mode: 0o644 })
  const made = await run(['--dir', dir, '--force'])
  t.equal(made.code, 0)
  t.ok(readAll(made.out).wrapper)
  t.equal(statSync(join(dir, 'server.key')).mode & 0o777, 0o600)
  t.equal(readFileSync(join(dir, 'other.txt'), 'utf8'), 'not ours')
})

t.test('a disk that cannot be written to is exit 1, with the path', async t => {
  const dir = t.testdir({ 'server.crt': { in: 'a folder cannot be replaced by a file' } })
  chmodSync(dir, 0o700)
  const { code, out, err } = await run(['--dir', dir, '--force'])
  t.match({ code, out }, { code: 1, out: '' })
  t.match(err, /^edge-health: certificates were not written to .*EISDIR/)
})

t.test("somebody else's folder is not trusted", { skip: getuid?.() === 0 }, async t => {
  t.match(await run(['--dir', '/etc']), { code: 2, err: /a folder that you own/ })
})

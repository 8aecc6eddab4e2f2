// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeLocalApp } from '../../agent/http/local-routes.js'
import { lazyCommands } from '../../cli/lazy-commands.js'
import { matrixOf, matrixText } from '../../cli/matrix-view.js'
import { redact, REDACTED, secretsOf } from '../../cli/redact.js'
import { tarOf } from '../../cli/tar.js'
import { systemClock } from '../../core/clock.js'
import { plain } from '../../core/text.js'
import type { HistoryEntryView } from '../../agent/http/history-view.js'
import { openListener } from '../../testkit/http/open-listener.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { runCli } from '../../testkit/run-cli.js'
import { FakeViews, nodeFixture, statusFixture, zoneFixture } from '../../testkit/zone/status-fixture.js' // prettier-ignore

t.setTimeout(180_000)

const JWT = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl'
const KEY = 'Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MEFCQ0RFRkdISUo='
const PEM = '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----'

t.test('what looks like a secret is taken out, and words stay', t => {
  const rows: [text: string, left: string][] = [
    [`token: ${JWT}`, `token: ${REDACTED}`],
    [`say ${JWT} now`, `say ${REDACTED} now`],
    ['Authorization: Bearer abcdef123456', `Authorization: Bearer ${REDACTED}`],
    ['https://me:pass@host/x', `https://${REDACTED}@host/x`],
    [`a ${PEM} b`, `a ${REDACTED} b`],
    [`primary=${KEY}`, `primary=${REDACTED}`],
    [`key ${KEY} end`, `key ${REDACTED} end`],
    ['"password": "a b c", "x": 1', `"password": ${REDACTED}, "x": 1`],
    ['https://me:p@ss@host/x', `https://${REDACTED}@host/x`],
    ["https://me:pa'ss@host/x", `https://${REDACTED}@host/x`],
    ['"token": "ab\\"cd", "x": 1', `"token": ${REDACTED}, "x": 1`],
    ['got {\\"token\\": \\"abcd\\", \\"x\\": 1}', `got {\\"token\\": ${REDACTED}, \\"x\\": 1}`],
    ['the planted one', `the ${REDACTED} one`],
    ['kubeletauth-plugin: weight=0.5,port=10250  # default', 'kubeletauth-plugin: weight=0.5,port=10250  # default'], // prettier-ignore
    ['key-secret: edge-health-keys', 'key-secret: edge-health-keys'],
    ['key set 1a2b3c4d is shared by 5 of 5 members', 'key set 1a2b3c4d is shared by 5 of 5 members'], // prettier-ignore
    ['node a.very-long.node-name.of-some-shop.example.internal.0123456789', 'node a.very-long.node-name.of-some-shop.example.internal.0123456789'], // prettier-ignore
  ]
  for (const [text, left] of rows) t.equal(redact(text, ['planted']), left)
  t.equal(redact(Buffer.from('planted').toString('base64'), ['planted']), REDACTED)
  t.strictSame(secretsOf({ MY_TOKEN: 'a', PATH: 'b', API_KEY: 'c', KEYBOARD: 'd' }), ['a', 'c'])
  t.end()
})

const serve = async (t: Test): Promise<{ views: FakeViews; url: string }> => {
  const views = new FakeViews()
  const seams = { clock: systemClock, log: recordingLog() }
  const listener = await openListener(
    makeLocalApp({
      ...{ views, localinfoTime: 'zero', metricsNodes: 'all', namespace: 'edge-system', ...seams },
    }),
  )
  t.teardown(() => listener.close())
  return { views, url: `http://127.0.0.1:${listener.port}` }
}

const detail = (number: number, votes: readonly ['up' | 'down' | 'not-looked', boolean][]) => ({
  ...nodeFixture(number),
  voters: votes.map(([says, counts], index) => ({
    ...{ name: `node-${index + 2}`, says, counts, ageSeconds: 1, why: counts ? null : 'too old' },
  })),
})

t.test('a bundle holds everything that helps, and no secret', async t => {
  const { views, url } = await serve(t)
  const folder = t.testdir()
  const secret = 'planted-secret-0815'
  views.view = statusFixture(
    { 2: { class: 'dead', verdict: 'unhealthy', maintenanceTrouble: `got ${JWT}` } },
    { keys: { state: 'ok', trouble: `primary=${KEY}`, set: '1a2b3c4d', sharedBy: 5 } },
  )
  views.details = [1, 2, 3, 4, 5].map(number => detail(number, [['up', true]]))
  const file = join(folder, 'out.tar')
  const env = { EDGE_HEALTH_TOKEN: secret, EDGE_HEALTH_CLUSTER_ID: secret, NODE_NAME: 'node-1' }
  const line = `bundle --agent ${url} --file ${file} --kubeconfig /none --master-url https://me:${secret}@127.0.0.1:1 -o json`
  const ran = await runCli(line.split(' '), { env, parts: { lazyCommands } })
  t.equal(ran.code, 0, ran.err)
  t.equal(statSync(file).mode & 0o777, 0o600, 'nobody else reads it')
  const bytes = readFileSync(file)
  for (const planted of [secret, JWT, KEY, Buffer.from(secret).toString('base64')])
    t.notOk(bytes.includes(planted), `${planted} is not in it`)
  const listed = spawnSync('tar', ['-tvf', file], { encoding: 'utf8' })
  t.equal(listed.stderr, '')
  for (const name of [
    'status.json',
    'status.txt',
    'explain/1-node-2.txt',
    'explain/5-node-5.txt',
    'matrix.txt',
    'history.json',
    'metrics.txt',
    'readyz.txt',
    'config.yaml',
    'doctor.txt',
    'about.json',
    'LOGS.txt',
  ])
    // prettier-ignore
    t.ok(listed.stdout.includes(` edge-health-bundle/${name}\n`), name)
  const text = (name: string) =>
    spawnSync('tar', ['-xOf', file, `edge-health-bundle/${name}`], { encoding: 'utf8' }).stdout
  t.match(text('config.yaml'), /^check-period: 10s +# default$/m)
  t.match(text('metrics.txt'), /^edge_health_node_verdict\{.*peer="node-2".*\} -1$/m)
  t.match(text('LOGS.txt'), /kubectl -n edge-system logs/)
  t.ok((JSON.parse(ran.out) as { paths: string[] }).paths.length > 10)

  const again = await runCli(line.split(' '), { env, parts: { lazyCommands } })
  t.match(again, { code: 1, err: /out\.tar cannot be written: / }, 'nothing is overwritten')
  const piped = await runCli(`bundle --agent ${url} --file - --node-name a --kubeconfig /none`.split(' '), { parts: { lazyCommands } }) // prettier-ignore
  t.equal(piped.code, 0)
  t.match(piped.out, /^edge-health-bundle\/status\.json\0/)
  const silent = await runCli(`bundle --agent http://127.0.0.1:1 --file ${join(folder, 'b.tar')} --kubeconfig /none`.split(' '), { parts: { lazyCommands } }) // prettier-ignore
  t.match(silent, { code: 3, out: /missing: status\.json: no agent answers/ })
})

t.test(
  'whoever answers in the place of an agent reaches no other folder, and no terminal',
  async t => {
    const { views, url } = await serve(t)
    const file = join(t.testdir(), 'out.tar')
    const view = statusFixture()
    const name = `../../../../tmp/x\u001b[2J`
    views.view = { ...view, nodes: [{ ...view.nodes[0]!, name }] }
    views.details = [{ ...detail(1, []), name }]
    const line = `bundle --agent ${url} --file ${file} --node-name a --kubeconfig /none`
    const ran = await runCli(line.split(' '), { parts: { lazyCommands } })
    t.equal(ran.code, 0, ran.err)
    const { stdout } = spawnSync('tar', ['-tf', file], { encoding: 'utf8' })
    t.match(stdout, /^edge-health-bundle\/explain\/1-\.\._\.\._\.\._\.\._tmp_x__2_\.txt$/m)
    t.notMatch(stdout, /\.\.\//)

    const squatter = await openListener({
      handle: (_request, response) =>
        void response.writeHead(500).end(`\u001b]0;x\u0007${'y'.repeat(10_000)}`),
    })
    t.teardown(() => squatter.close())
    const status = await runCli(['status', '--agent', `http://127.0.0.1:${squatter.port}`], {
      parts: { lazyCommands },
    })
    t.equal(status.code, 3)
    t.notMatch(status.err.replaceAll('\n', ''), /\p{Cc}/u)
    t.ok(status.err.length < 1_000)
  },
)

t.test('an archive is one that tar reads, whatever the sizes', t => {
  const folder = t.testdir()
  const files = [0, 1, 511, 512, 513].map(size => ({ path: `f/${size}`, text: 'ä'.repeat(size) }))
  const packed = tarOf(files, 1_767_225_600_000)
  t.equal(packed.length % 512, 0)
  const ran = spawnSync('tar', ['-x'], { cwd: folder, input: packed, encoding: 'utf8' })
  t.strictSame([ran.status, ran.stderr], [0, ''])
  for (const { path, text } of files) t.equal(readFileSync(join(folder, path), 'utf8'), text)
  t.end()
})

t.test('matrix: who says what of whom', async t => {
  const { views, url } = await serve(t)
  views.view = statusFixture({ 2: { class: 'dead', verdict: 'unhealthy' } })
  views.details = [
    detail(1, [['up', true], ['down', true], ['not-looked', false], ['up', false]]), // prettier-ignore
    { ...detail(2, []), class: 'dead', verdict: 'unhealthy' },
  ]
  const run = (line: string) => runCli(line.split(' '), { parts: { lazyCommands } })
  const text = await run(`matrix --agent ${url}`)
  t.equal(text.code, 1, text.err)
  t.match(text.out, /^ +1 2 3 4 5$/m)
  t.match(text.out, /^1 node-1 {2}\\ \. D \? , {2}healthy$/m)
  t.match(text.out, /^2 node-2 {4}\\ {8}dead$/m)
  const json = JSON.parse((await run(`matrix --agent ${url} -o json`)).out) as { voters: string[]; rows: { votes: object[] }[] } // prettier-ignore
  t.strictSame(json.voters, ['node-1', 'node-2', 'node-3', 'node-4', 'node-5'])
  t.match(json.rows[0]!.votes, [{ says: 'self' }, { says: 'up', counts: true }, { says: 'down' }])
  t.match(await run('matrix --agent http://127.0.0.1:1'), { code: 3, err: /no agent answers/ })
  const names = Array.from({ length: 12 }, (_, index) => `n${index + 1}`)
  const wide = matrixOf(names, [{ ...zoneFixture(), node: detail(1, []) }])
  t.match(matrixText(wide, plain), /^ +1 1 1$\n^ +1 2 3 4 5 6 7 8 9 0 1 2$/m)
  t.match(matrixText(matrixOf([], []), plain), /no such nodes/)
})

const entry = (id: number, change: Partial<HistoryEntryView> = {}): HistoryEntryView => ({
  ...{ id, at: '2026-01-01T09:59:00.500Z', kind: 'class', nodes: ['node-2'], count: 1 },
  ...{ from: 'healthy', to: 'dead', text: `entry ${id}`, ...change },
})

t.test('history: what happened lately, and what happens', async t => {
  const { views, url } = await serve(t)
  const run = (line: string, more: object = {}) =>
    runCli(line.split(' '), { parts: { lazyCommands }, ...more })
  t.match(await run(`history --agent ${url}`), { code: 0, out: /node-1 knows of no recent events/ })
  views.entries = [entry(1), entry(2, { kind: 'brake', nodes: [], text: 'the brake' }), entry(3)]
  const text = await run(`history --agent ${url}`)
  t.match(text.out, /^2026-01-01T09:59:00Z +60 s ago +class +entry 1$/m)
  t.match((await run(`history --agent ${url} --lines 1`)).out, /WHAT +TEXT\n.*entry 3\n$/)
  const json = JSON.parse((await run(`history --agent ${url} --node node-2 -o json`)).out) as { entries: object[] } // prettier-ignore
  t.match(json.entries, [{ id: 1 }, { id: 3 }])

  const stop = new AbortController()
  const onOut = (all: string): void => {
    if (all.includes('entry 4')) stop.abort()
  }
  const watched = run(`history --agent ${url} --watch`, { signal: stop.signal, onOut })
  const look = setInterval(() => {
    if (views.historyListeners.size > 0 && views.entries.length === 3) views.happened(entry(4))
  }, 50)
  t.teardown(() => clearInterval(look))
  const { code, out } = await watched
  t.equal(code, 0)
  t.equal(out.match(/entry \d|the brake/g)?.join(), 'entry 1,the brake,entry 3,entry 4')
  const rows: [line: string, code: number, err: RegExp][] = [
    ['history -n x', 2, /^edge-health: --lines must be a whole number from 1 to 1024, got "x"\n$/],
    ['history --agent http://127.0.0.1:1', 3, /no agent answers/],
  ]
  for (const [line, code, err] of rows) t.match(await run(line), { code, err }, line)
})

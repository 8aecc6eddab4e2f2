// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t from 'tap'
import { buildBundle } from '../testkit/bundle.js'

const root = join(import.meta.dirname, '..')
const node = (...args: string[]) =>
  spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })

// Uses every package that the build slims, as the agent does, and says what it saw.
const entry = `
import axios from 'axios'
import express from 'express'
import cron from 'node-cron'
import { pino } from 'pino'
import { newClusters } from '@kubernetes/client-node/dist/config_types.js'

declare const EDGE_HEALTH_VERSION: string
declare const EDGE_HEALTH_BUILD: string

const main = async (): Promise<void> => {
  const [cluster] = newClusters([{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }])
  const app = express()
  app.put('/raw', express.raw({ type: () => true }), (q, r) => void r.type('text').send(String((q.body as Buffer).length)))
  app.put('/json', express.json(), (q, r) => void r.json(q.body))
  app.get('/page', (_q, r) => void r.type('html').send('<p>'))
  app.use((error: { status: number }, _q: unknown, r: express.Response, _next: unknown) => void r.status(error.status).end())
  const lazy = process.argv[2] === 'lazy' ? await import('./lazy.js') : undefined
  const server = app.listen(0, '127.0.0.1', async () => {
    const at = 'http://127.0.0.1:' + (server.address() as { port: number }).port
    const set = { proxy: false as const, maxRedirects: 0, validateStatus: () => true }
    const utf8 = await axios.put(at + '/json', { a: 'ä' }, set)
    const other = await axios.put(at + '/json', '{}', {
      ...set, headers: { 'content-type': 'application/json; charset=iso-8859-2' },
    })
    const raw = await axios.put(at + '/raw', Buffer.from('12345'), set)
    const page = await axios.get(at + '/page', set)
    const refusal = (more: object) => axios.get(at + '/page', { ...set, ...more }).catch((error: Error) => error.message)
    const logged: string[] = []
    pino({ base: null, timestamp: false }, { write: line => void logged.push(line) }).info({ n: 1 }, 'said')
    const { moduleLoadList } = process as unknown as { moduleLoadList: string[] }
    console.log(JSON.stringify({
      server: cluster?.server,
      utf8: utf8.data, jsonType: utf8.headers['content-type'], other: other.status,
      raw: raw.data, rawType: raw.headers['content-type'], pageType: page.headers['content-type'],
      cron: cron.validate('*/5 * * * * *'),
      version: EDGE_HEALTH_VERSION, build: EDGE_HEALTH_BUILD,
      lazy: lazy?.word ?? 'not asked', started: (globalThis as Record<string, unknown>)['lazyStarted'] ?? false,
      redirects: await refusal({ maxRedirects: 1 }), logged,
      spared: ['undici', 'http2', 'worker_threads', 'readline', 'tty', 'perf_hooks', 'internal/navigator']
        .filter(name => moduleLoadList.some(loaded => loaded === 'NativeModule ' + name || loaded.endsWith('/' + name))),
    }))
    server.close()
  })
}
void main()
`
// The next slots of several periods, from moments on both sides of a summer time: by the bundled node-cron, which
// knows the local time without Intl, and by itself in the same zone by name, where it still asks Intl.
const cronEntry = `
import cron from 'node-cron'
const runs = (timezone?: string): string[] => {
  const seen: string[] = []
  const RealDate = Date
  for (const month of [0, 2, 6, 9, 11])
    for (const day of [1, 8, 25, 31]) {
      const at = RealDate.UTC(2026, month, day, 0, 59, 58, 250)
      globalThis.Date = class extends RealDate {
        constructor(...given: []) { super(...((given.length === 0 ? [at] : given) as unknown as [])) }
        static override now() { return at }
      } as DateConstructor
      for (const line of ['*/10 * * * * *', '0 */5 * * * *', '30 2 * * *', '0 0 * * SUN'])
        for (const next of cron.createTask(line, () => undefined, { timezone }).getNextRuns(3))
          seen.push(next.toISOString())
    }
  globalThis.Date = RealDate
  return seen
}
const local = runs()
const intl = Intl.DateTimeFormat
let asked = 0
Object.defineProperty(Intl, 'DateTimeFormat', { value: new Proxy(intl, { construct: (target, args) => (asked++, Reflect.construct(target, args)) }) })
runs()
const askedLocally = asked
console.log(JSON.stringify({ local, named: runs(process.env['TZ']), askedLocally, askedByName: asked > 0 }))
`

const lazy = `
;(globalThis as Record<string, unknown>)['lazyStarted'] = true
export const word = 'asked'
`

t.test('the bundle', t => {
  const folder = t.testdir({ 'main.ts': entry, 'lazy.ts': lazy })
  const outdir = join(folder, 'out')
  const build = (...more: string[]) =>
    node('build.mjs', '--entry', join(folder, 'main.ts'), '--outdir', outdir, ...more)
  const built = build('--analyze')
  t.equal(built.stderr, '', 'no package left out of the bundle has gone from it')
  t.equal(built.status, 0)
  t.match(
    built.stdout,
    /edge-health\.cjs {2}\d+ KiB, \d+ packages\n.*own code\n(.* \d+\.\d+.*\n){10}/,
  )
  const file = join(outdir, 'edge-health.cjs')
  const text = readFileSync(file, 'utf8')
  t.ok(text.startsWith('#!/usr/bin/env node\n'), 'starts by itself')
  t.ok((statSync(file).mode & 0o111) === 0o111, 'is executable')
  t.ok(
    text.trimEnd().endsWith('//# sourceMappingURL=edge-health.cjs.map'),
    'its map is a file of its own',
  )
  t.ok(statSync(`${file}.map`).size > 0)
  const licences = readFileSync(join(outdir, 'THIRD_PARTY_LICENSES.txt'), 'utf8')
  for (const name of ['express', 'axios', 'node-cron', '@kubernetes/client-node']) {
    t.match(licences, new RegExp(`^## ${name} \\d`, 'm'), `the licence of ${name} is there`)
  }

  const run = node(file)
  t.equal(run.stderr, '', 'starts without a warning')
  const saw = JSON.parse(run.stdout) as Record<string, unknown>
  t.match(saw, {
    server: 'https://127.0.0.1:1',
    utf8: { a: 'ä' },
    jsonType: 'application/json; charset=utf-8',
    other: 415,
    raw: 5,
    rawType: 'text/plain; charset=utf-8',
    pageType: 'text/html; charset=utf-8',
    cron: true,
    version: /^\d+\.\d+\.\d+/,
    build: /^[0-9a-f]{12}$/,
    lazy: 'not asked',
    started: false,
    redirects: 'following redirects is not part of this program',
    logged: ['{"level":30,"n":1,"msg":"said"}\n'],
    spared: [],
  })
  t.match(JSON.parse(node(file, 'lazy').stdout), { lazy: 'asked', started: true })

  t.equal(build('--quiet').stdout, '', '--quiet says nothing')
  t.equal(readFileSync(file, 'utf8'), text, 'the same sources give the same file')
  t.end()
})

t.test('the bundled node-cron tells the local time without Intl', t => {
  const folder = t.testdir({ 'main.ts': cronEntry })
  node('build.mjs', '--quiet', '--entry', join(folder, 'main.ts'), '--outdir', folder)
  for (const TZ of ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Asia/Kathmandu']) {
    const { stdout, stderr } = spawnSync(process.execPath, [join(folder, 'edge-health.cjs')], {
      ...{ encoding: 'utf8', env: { ...process.env, TZ } },
    })
    t.equal(stderr, '')
    const { local, named, askedLocally, askedByName } = JSON.parse(stdout) as {
      readonly local: readonly string[]
      readonly named: readonly string[]
      readonly askedLocally: number
      readonly askedByName: boolean
    }
    t.equal(local.length, 240)
    t.ok(new Set(local).size > 100, 'of different moments')
    t.strictSame(local, named, TZ)
    t.equal(askedLocally, 0)
    t.ok(askedByName)
  }
  t.end()
})

t.test('what runs on each node is spared the text of the other programs', t => {
  const program = buildBundle(t)
  const folder = dirname(program)
  const loaded = t.testdir({
    'loaded.cjs': `process.on('exit', () => console.error(Object.keys(require.cache).join(' ')))`,
  })
  const run = (...args: string[]) => node('--require', join(loaded, 'loaded.cjs'), program, ...args)
  const partOf = ({ stderr }: { readonly stderr: string }): string =>
    stderr
      .split(/\s+/)
      .filter(path => path.startsWith(folder))
      .map(path => basename(path))
      .join()
  const bytes = (name: string): number => statSync(join(folder, name)).size
  for (const name of ['agent', 'wrapper']) {
    const part = `edge-health-${name}.cjs`
    const help = run(name, '--help')
    t.equal(partOf(help), `edge-health.cjs,${part}`)
    t.match(help.stdout, new RegExp(`^Usage: edge-health ${name} `))
    t.equal(help.stdout, run('help', name).stdout, `both say the same of the ${name}`)
    t.ok(bytes(part) < 0.6 * bytes('edge-health-all.cjs'), part)
  }
  for (const args of [[], ['--help'], ['help', 'agent'], ['grids', '--help'], ['demo', '--help']])
    t.equal(partOf(run(...args)), 'edge-health.cjs,edge-health-all.cjs', args.join(' '))
  t.end()
})

t.test('a part that is missing, or of another build, is one clear line', t => {
  const program = buildBundle(t)
  const folder = t.testdir()
  const copy = join(folder, 'edge-health.cjs')
  const part = join(folder, 'edge-health-agent.cjs')
  copyFileSync(program, copy)
  const missing = node(copy, 'agent', '--help')
  t.equal(missing.status, 1)
  t.equal(
    missing.stderr,
    `edge-health: ${part} cannot be read (ENOENT): install all files of one build together\n`,
  )
  const text = readFileSync(join(dirname(program), 'edge-health-agent.cjs'), 'utf8')
  writeFileSync(part, text.replace(/build [0-9a-f]{12}/, 'build 0123456789ab'))
  const other = node(copy, 'agent', '--help')
  t.equal(other.status, 1)
  t.match(other.stderr, /^edge-health: .* is not of build [0-9a-f]{12}, as this file is: .*\n$/)
  writeFileSync(part, text)
  t.equal(node(copy, 'agent', '--help').status, 0)
  t.end()
})

t.test('sources that do not build end with 1 and the place', t => {
  const folder = t.testdir({ 'main.ts': `import './absent.js'\n` })
  const { status, stderr } = node(
    'build.mjs',
    '--entry',
    join(folder, 'main.ts'),
    '--outdir',
    folder,
  )
  t.equal(status, 1)
  t.match(stderr, /Could not resolve "\.\/absent\.js"/)
  t.notMatch(stderr, /at file:/, 'no trace of our own')
  t.end()
})

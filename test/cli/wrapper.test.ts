// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parse } from 'yaml'
import t, { type Test } from 'tap'
import type { LazyCommand } from '../../cli/lazy-command.js'
import { optionsMarkdown } from '../../cli/options-markdown.js'
import { registerWrapper } from '../../cli/wrapper.js'
import { wrapperOptionSet } from '../../wrapper/options/definitions.js'
import { statusRoutes, type WrapperViews } from '../../wrapper/status/routes.js'
import type {
  HealthView,
  ServiceView,
  WrapperStatusView,
} from '../../wrapper/status/status-view.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { runCli, type Ran } from '../../testkit/run-cli.js'

const wrapper: LazyCommand = {
  name: 'wrapper',
  description: 'the wrapper',
  load: () => Promise.resolve({ register: registerWrapper }),
}
const run = (line: string, more: Parameters<typeof runCli>[1] = {}): Promise<Ran> =>
  runCli(line.split(' '), { ...more, parts: { lazyCommands: [wrapper] } })

t.test('bad usage is exit 2 and one line with option, rule and value', async t => {
  const rows: [line: string, error: string][] = [
    ['wrapper', '--node-name must be given, or NODE_NAME in the environment, got nothing'],
    [
      'wrapper --node-name=a --bind-address=0.0.0.0:51006',
      '--bind-address must be loopback while --insecure is true, got "0.0.0.0:51006"',
    ],
    [
      'wrapper --node-name=a --insecure=false',
      '--ca-file (default) must be given when --insecure is false, got ""',
    ],
    [
      'wrapper --node-name=a --status-address=127.0.0.1:51006',
      '--status-address must differ from --bind-address, got "127.0.0.1:51006"',
    ],
    [
      'wrapper --node-name=a --helth-limit=5m',
      "unknown option '--helth-limit=5m' (did you mean --health-limit?)",
    ],
    ['wrapper explain', 'argument <service> must be given'],
    ['wrapper explain Web', 'service must be a Kubernetes name, got "Web"'],
    ['wrapper explain web -n a/b', '--namespace must be a Kubernetes name, got "a/b"'],
    [
      'wrapper status --wrapper there',
      '--wrapper must be an http:// URL such as http://127.0.0.1:51007, got "there"',
    ],
    ['wrapper status -o xml', '--output must be one of text, json, got "xml"'],
    ['wrapper status --wtch', "unknown option '--wtch'"],
  ]
  for (const [line, error] of rows)
    t.strictSame(await run(line), { code: 2, out: '', err: `edge-health: ${error}\n` }, line)
})

t.test('--help, --print-config and the page of options', async t => {
  const { code, out } = await run('wrapper --help')
  t.equal(code, 0)
  t.match(out.replaceAll(/\s+/g, ' '), /--health-limit <duration> how long .* \(default 5m\)/)
  t.match(out, /Exit codes: 0 stopped by a signal/)
  t.match((await run('wrapper explain --help')).out, /-n, --namespace <name>/)
  const printed = await run('wrapper --print-config --hostname=n1 --insecure', {
    env: { EDGE_HEALTH_EVENT_BUFFER: '5' },
  })
  t.match(printed.out, /^node-name: n1 +# --hostname$/m)
  t.match(printed.out, /^event-buffer: "?5"? +# EDGE_HEALTH_EVENT_BUFFER$/m)
  const config = parse(printed.out) as Record<string, unknown>
  t.equal(Object.keys(config).length, wrapperOptionSet.definitions.length, 'each option once')
  const again = await run('wrapper --print-config -o json --config /c', {
    files: { '/c': printed.out },
  })
  t.match(JSON.parse(again.out), { options: { 'node-name': { value: 'n1' } } })
  t.equal((await run('wrapper --options-markdown')).out, optionsMarkdown(wrapperOptionSet))
})

t.test('docs/wrapper-options.md is what the definitions say', t => {
  const page = readFileSync(new URL('../../docs/wrapper-options.md', import.meta.url), 'utf8')
  t.equal(
    page,
    optionsMarkdown(wrapperOptionSet),
    'make it anew: edge-health wrapper --options-markdown > docs/wrapper-options.md',
  )
  t.end()
})

const health: HealthView = {
  ...{ state: 'last-known', source: 'push', ageSeconds: 7, nodes: 2, dead: ['b'], connects: 1 },
  trouble: 'the agent ended the stream',
}

const statusView: WrapperStatusView = {
  ...{
    version: '1',
    at: '2026-01-01T00:00:00.000Z',
    uptimeSeconds: 60,
    nodeTrouble: null,
    apiserverTrouble: 'kubeconfig /k: no \u001b[31m',
    node: 'a',
  },
  ready: { isReady: true, reason: 'from disk: nodes' },
  resources: [
    {
      ...{ resource: 'nodes', source: 'disk', objects: 3, isStale: true, ageSeconds: 3_600 },
      ...{ lists: 0, watchers: 1, trouble: 'connect ECONNREFUSED \u001b[31m' },
    },
    {
      ...{ resource: 'services', source: 'api', objects: 5, isStale: false, ageSeconds: 2 },
      ...{ lists: 1, watchers: 0, trouble: null },
    },
  ],
  neighbours: [
    { label: 'zone', value: 'x', nodes: 2, how: 'watched', trouble: null },
    { label: 'site', value: 'y', nodes: null, how: 'polled', trouble: 'connect ECONNREFUSED' },
  ],
  ...{ health, malformed: ['default/odd'] },
  requests: { gets: 1, lists: 2, watches: 3, refused: 4, passed: 5, upgraded: 6, unreachable: 7 },
  watchEvents: { written: 1, encoded: 2, overtaken: 3, failed: 4 },
  events: { waiting: 2, bytes: 700, accepted: 9, sent: 4, dropped: 3, refused: 0 },
  connectionsEvicted: { clients: 8, status: 0 },
  disk: { writes: 1, trouble: 'nodes: ENOSPC' },
}

const serviceView: ServiceView = {
  ...{ version: '1', at: '2026-01-01T00:00:00.000Z', node: 'a', service: 'default/web', health },
  ...{ isKnown: true, topologyKeys: ['zone'], topologyTrouble: 'topologyKeys must be a JSON list' },
  slices: [
    { object: 'default/web-1', address: '10.0.0.1', node: 'a', isKept: true, reason: 'kept' },
    { object: 'default/web-1', address: '10.0.0.2', node: 'b', isKept: false, reason: 'node-dead' },
    { object: 'default/web-1', address: '10.0.0.3', node: null, isKept: true, reason: 'kept-new' },
  ],
  endpoints: [],
}

const serve = async (t: Test, views: Partial<WrapperViews>): Promise<string> => {
  const all = { status: () => statusView, explain: () => serviceView, ...views }
  const server = createServer(statusRoutes(all, recordingLog()))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('status says what is served, from where, and what is wrong', async t => {
  const env = { EDGE_HEALTH_WRAPPER: await serve(t, {}) }
  const { code, out } = await run('wrapper status', { env })
  t.equal(code, 0)
  t.match(out, /^wrapper of a: ready \(from disk: nodes\)$/m)
  t.match(
    out,
    /^health +last-known, pushed by the agent, heard 7 s ago; dead: b; the agent ended the stream$/m,
  )
  t.match(out, /^requests +1 gets, 2 lists, 3 watches; 5 passed through, 7 answered 503/m)
  t.match(out, /^events +2 wait for the apiserver, 3 were refused$/m)
  t.match(out, /^! disk: nodes: ENOSPC$/m)
  t.match(out, /^! kubeconfig \/k: no /m)
  t.match(out, /^! topologyKeys of default\/odd cannot be read, or is empty$/m)
  t.match(out, /^nodes +disk, stale +3 +60 min +1 +connect ECONNREFUSED /m)
  t.match(out, /^services +api +5 +2 s /m)
  t.notMatch(out, '\u001b', 'no colours for a file, and none from outside')
  const json = await run('wrapper status -o json', { env })
  t.strictSame(JSON.parse(json.out), statusView)
})

t.test('explain says what became of each endpoint, and why', async t => {
  const asked: string[] = []
  const views: Partial<WrapperViews> = {
    explain: service => {
      asked.push(service)
      return service === 'default/web' ? serviceView : undefined
    },
  }
  const env = { EDGE_HEALTH_WRAPPER: await serve(t, views) }
  const { code, out } = await run('wrapper explain web', { env })
  t.equal(code, 0)
  t.match(out, /^default\/web as a sees it$/m)
  t.match(out, /^topology keys +zone \(the last valid ones: topologyKeys must be a JSON list\)$/m)
  t.match(out, /^endpoints of its slices: 2 of 3 shown$/m)
  t.match(
    out,
    /^10\.0\.0\.2 +b +default\/web-1 +left out: its node is dead, according to this node's agent$/m,
  )
  t.match(out, /^10\.0\.0\.3 +– +default\/web-1 +kept-new$/m, 'a reason of another version')
  t.notMatch(out, /Endpoints object/, 'nothing is said of what is not there')
  const json = await run('wrapper explain web -o json', { env })
  t.strictSame(JSON.parse(json.out), serviceView)
  t.strictSame(await run('wrapper explain no -n other', { env }), {
    ...{ code: 1, out: '' },
    err: 'edge-health: the wrapper knows no service other/no\n',
  })
  t.strictSame(asked, ['default/web', 'default/web', 'other/no'])
})

t.test('where no wrapper answers it is exit 3, and says where to look', async t => {
  const nobody = await run('wrapper status --wrapper http://127.0.0.1:1')
  t.equal(nobody.code, 3)
  t.match(nobody.err, /^edge-health: no wrapper answers at http:\/\/127\.0\.0\.1:1: .*ECONNREFUSED/)
  const other = createServer((_request, response) => void response.end('{"version":1}'))
  await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  for (const line of ['status', 'explain web']) {
    const { code, err } = await run(`wrapper ${line} --wrapper ${url}`)
    t.equal(code, 3)
    t.match(err, /what answers is not a wrapper of this version/)
  }
})

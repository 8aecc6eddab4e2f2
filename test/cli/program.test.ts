// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { parse } from 'yaml'
import t from 'tap'
import type { MakeAgent } from '../../cli/agent.js'
import { makeLogger } from '../../cli/logger.js'
import { optionsMarkdown } from '../../cli/options-markdown.js'
import type { CliProgramSeams } from '../../cli/run-program.js'
import { lazyCommands } from '../../cli/lazy-commands.js'
import type { Program } from '../../core/program.js'
import { version } from '../../cli/version.js'
import type { AgentOptions } from '../../agent/options/agent-options.js'
import { agentOptionSet } from '../../agent/options/definitions.js'
import { ListenError } from '../../core/errors.js'
import { FakeClock, settle } from '../../testkit/fake-clock.js'
import { runCli as run } from '../../testkit/run-cli.js'

t.test('bad usage of commands that are loaded when they are used', async t => {
  const rows: [argv: string, line: string][] = [
    ['cluster explain a b', "too many arguments for 'explain'. Expected 1 argument but got 2."],
    ['cluster explian a', "unknown command 'explian' (did you mean explain?)"],
    ['completion tcsh', 'argument <shell> must be one of bash, zsh, fish, got "tcsh"'],
  ]
  for (const [argv, line] of rows)
    t.match(await run(argv.split(' '), { parts: { lazyCommands } }), { code: 2, err: `edge-health: ${line}\n` }, argv) // prettier-ignore
})

t.test('bad usage is exit 2 and one line with option, rule and value', async t => {
  const rows: [argv: string, line: string][] = [
    ['agnt', "unknown command 'agnt' (did you mean agent?)"],
    ['agent --chek-period=5s', "unknown option '--chek-period=5s' (did you mean --check-period?)"],
    ['agent --node-name a --port x', '--port must be a port from 1 to 65535, got "x"'],
    ['agent --node-name a --port', '--port must have a value, <port>, got nothing'],
    ['agent --node-name a b', "too many arguments for 'agent'. Expected 0 arguments but got 1."],
    ['agent', '--node-name must be given, or NODE_NAME in the environment, got nothing'],
    [
      'agent --config /none --node-name a',
      '--config must be a readable file (no such file), got "/none"',
    ],
    [
      'agent --config /c --node-name a',
      '/c: key must be the name of an option (did you mean vouch?), got "vuoch"',
    ],
    [
      'agent --node-name a --allow-default-hmac-key=yes',
      '--allow-default-hmac-key must be true or false, got "yes"',
    ],
    [
      'agent --node-name a --exchange-period 31s',
      '--record-ttl (default) must be at least twice --exchange-period (31s), got "60s"',
    ],
    [
      'agent --node-name a --pingplugin=',
      '--pingplugin must not be empty; weight=1 is enough, got ""',
    ],
    ['status --output xml', '--output must be one of text, json, got "xml"'],
    [
      'status --agent there',
      '--agent must be an http:// URL such as http://127.0.0.1:51005, got "there"',
    ],
    ['explain', 'argument <node> must be given'],
    ['explain --wtach a', "unknown option '--wtach'"],
    ['status --wtach', "unknown option '--wtach' (did you mean --watch?)"],
  ]
  for (const [argv, line] of rows) {
    const ran = await run(argv.split(' '), { files: { '/c': 'vuoch: off' } })
    t.strictSame(ran, { code: 2, out: '', err: `edge-health: ${line}\n` }, argv)
  }
  const bare = await run([])
  t.equal(bare.code, 2)
  t.match(bare.err, /^Usage: edge-health/)
})

t.test('--help everywhere, with units and defaults', async t => {
  const top = await run(['--help'])
  t.equal(top.code, 0)
  for (const name of ['agent', 'status', 'explain', 'version'])
    t.match(top.out, new RegExp(`^  ${name}`, 'm'))
  const agent = await run(['agent', '--help'])
  t.equal(agent.code, 0)
  t.match(
    agent.out.replaceAll(/\s+/g, ' '),
    /--check-period <duration> each peer is probed once in this period \(default 10s; fast 1s\)/,
  )
  t.match(agent.out, /^How the zone decides and what it writes:$/m, 'grouped')
  t.notMatch(agent.out, /healthcheckperiod|preset:/, 'SuperEdge’s names are accepted, not shown')
  t.match(
    (await run(['status', '--help'])).out,
    /Exit codes: 0 nobody is dead, 1 somebody is, 2 bad usage, 3 no agent/,
  )
  t.match((await run(['explain', '--help'])).out, /<node>/)
  t.match((await run(['version'])).out, `edge-health ${version} (build source, Node.js `)
  t.match(JSON.parse((await run(['version', '-o', 'json'])).out), { version })
})

t.test('help NAME is NAME --help, and says which name is unknown', async t => {
  t.equal((await run(['help', 'status'])).out, (await run(['status', '--help'])).out)
  const parts = { lazyCommands }
  const doctor = await run(['help', 'doctor'], { parts })
  t.match(doctor, { code: 0, err: '', out: /^Usage: edge-health doctor \[options\]/ })
  t.match(await run(['help', 'wrapper', 'status'], { parts }), { code: 0, out: /wrapper status \[options\]/ }) // prettier-ignore
  t.match(await run(['help', 'docter'], { parts }), {
    code: 2,
    out: '',
    err: "edge-health: unknown command 'docter' (did you mean doctor?)\n",
  })
  t.match(await run(['help', 'sandbox-kubelet'], { parts }), { code: 2 }, 'what is hidden is none')
  t.match((await run(['help'])).out, /^Commands:$/m)
})

t.test('NAME help SUBCOMMAND is NAME SUBCOMMAND --help', async t => {
  const parts = { lazyCommands }
  for (const name of ['grids', 'wrapper', 'cluster']) {
    const whole = await run([name, '--help'], { parts })
    t.same(await run([name, 'help'], { parts }), whole, name)
    const explain = await run([name, 'explain', '--help'], { parts })
    t.match(explain, { code: 0, out: `Usage: edge-health ${name} explain` })
    t.same(await run([name, 'help', 'explain'], { parts }), explain, `${name} explain`)
    t.same(await run(['help', name, 'explain'], { parts }), explain, `${name} explain`)
    const unknown = {
      code: 2,
      out: '',
      err: "edge-health: unknown command 'explian' (did you mean explain?)\n",
    }
    for (const argv of [
      ['help', name, 'explian'],
      [name, 'help', 'explian'],
      [name, 'explian', '--help'],
      [name, 'explian'],
    ])
      // prettier-ignore
      t.match(await run(argv, { parts }), unknown, argv.join(' '))
  }
  const misplaced = await run(['grids', '--port=1', 'plan'], { parts })
  t.match(misplaced, { code: 2, out: '' })
  t.notMatch(misplaced.err, "unknown command '--port=1'", 'an option is no command')
})

t.test('--print-config names the variables that have no effect', async t => {
  const env = { NODE_NAME: 'n1', EDGE_HEALTH_CHECK_PERIODE: '3s' }
  for (const format of ['yaml', 'json']) {
    const { code, out, err } = await run(['agent', '--print-config', '-o', format], { env })
    t.equal(code, 0)
    t.match(err, /^edge-health: warning: .*EDGE_HEALTH_CHECK_PERIODE.*CHECK_PERIOD\b.*\n$/)
    t.notMatch(out, /PERIODE/)
  }
})

t.test('--print-config says where each value came from and can be read back', async t => {
  const argv = [
    'agent',
    '--print-config',
    '--config',
    '/c',
    '--write-hold=3s',
    '--allow-default-hmac-key',
  ]
  const more = { env: { NODE_NAME: 'n1' }, files: { '/c': 'profile: fast\nvouch: off\n' } }
  const { code, out, err } = await run(argv, more)
  t.equal(code, 0)
  t.equal(err, '')
  for (const line of [
    /^profile: fast$/m,
    /^node-name: n1 +# NODE_NAME$/m,
    /^write-hold: 3s +# --write-hold$/m,
    /^allow-default-hmac-key: "?true"? +# --allow-default-hmac-key$/m,
    /^vouch: off +# \/c$/m,
    /^check-period: 1s +# profile fast$/m,
    /^port: "?51005"? +# default$/m,
    /^kubeletauth-plugin: weight=0.5,port=10250 +# default$/m,
  ])
    t.match(out, line)
  const again = await run(['agent', '--print-config', '--config', '/d', '-o', 'json'], {
    files: { '/d': out },
  })
  const json = JSON.parse(again.out) as {
    profile: string
    options: Record<string, { value: string; origin: { text: string } }>
  }
  t.equal(json.profile, 'fast')
  for (const [flag, value] of Object.entries(
    parse(out) as Record<string, string | number | boolean | null>,
  ))
    if (flag !== 'profile') t.equal(json.options[flag]?.value, String(value ?? ''), flag)
  t.equal(json.options['vouch']?.origin.text, '/d')
})

t.test('docs/options.md is what the definitions say', t => {
  const page = readFileSync(new URL('../../docs/options.md', import.meta.url), 'utf8')
  t.equal(
    page,
    optionsMarkdown(agentOptionSet),
    'make it anew: edge-health agent --options-markdown > docs/options.md',
  )
  t.end()
})

t.test('the page of options can be made', async t => {
  t.equal((await run(['agent', '--options-markdown'])).out, optionsMarkdown(agentOptionSet))
})

interface Started {
  readonly options: AgentOptions
  readonly seams: CliProgramSeams
}

const agentThat = (
  program: Partial<Program>,
): { started: Started[]; load: () => Promise<MakeAgent> } => {
  const started: Started[] = []
  const make: MakeAgent = (options, seams) => {
    started.push({ options, seams })
    return { start: () => Promise.resolve(), stop: () => Promise.resolve(), ...program }
  }
  return { started, load: () => Promise.resolve(make) }
}

const linesOf = (err: string): Record<string, unknown>[] =>
  err
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)

t.test('the agent gets what the flags say, runs until the signal, and stops with 0', async t => {
  const stop = new AbortController()
  const { started, load } = agentThat({})
  const argv = ['agent', '--hostname=n1', '--healthcheckperiod=7', '--logtostderr', '--v=2']
  const running = run(argv, { signal: stop.signal, parts: { loadAgent: load } })
  while (started.length === 0) await settle()
  await settle()
  stop.abort('SIGTERM')
  const { code, err } = await running
  t.equal(code, 0)
  t.match(started[0]!.options, { nodeName: 'n1', checkPeriodMs: 7_000, logLevel: 'info' })
  t.equal(started[0]!.seams.version, version)
  t.match(linesOf(err), [
    { level: 'warn', node: 'n1', msg: /--logtostderr is accepted/ },
    { level: 'info', msg: 'starting' },
    { level: 'info', msg: 'running' },
    { level: 'info', msg: 'stopping', signal: 'SIGTERM' },
  ])
})

t.test('an agent that cannot start says why once and exits with 1', async t => {
  let stops = 0
  const { load } = agentThat({
    start: () => Promise.reject(new ListenError('127.0.0.1:51005', 'the port is taken')),
    stop: () => {
      stops++
      return Promise.resolve()
    },
  })
  const { code, err } = await run(['agent', '--node-name', 'a'], { parts: { loadAgent: load } })
  t.equal(code, 1)
  t.equal(stops, 1, 'what was opened is closed')
  t.match(linesOf(err).at(-1), {
    level: 'error',
    msg: 'agent failed',
    error: 'cannot listen on 127.0.0.1:51005: the port is taken',
  })
})

t.test('a program whose work has ended by a bug stops, and exits with 1', async t => {
  let stops = 0
  let fail: (error: Error) => void = () => undefined
  const { started, load } = agentThat({
    failed: new Promise<never>((_resolve, reject) => (fail = reject)),
    stop: () => {
      stops++
      return Promise.resolve()
    },
  })
  const running = run(['agent', '--node-name', 'a'], { parts: { loadAgent: load } })
  while (started.length === 0) await settle()
  fail(new Error('broken'))
  const { code, err } = await running
  t.equal(code, 1)
  t.equal(stops, 1)
  t.match(linesOf(err).at(-1), { level: 'error', msg: 'agent failed', error: 'broken' })
})

t.test('an agent that does not stop is left after 5 s; a signal during start is heard', async t => {
  const clock = new FakeClock()
  const never = new Promise<void>(() => undefined)
  const { load } = agentThat({ start: () => never, stop: () => never })
  const stop = new AbortController()
  const running = run(['agent', '--node-name', 'a'], {
    clock,
    signal: stop.signal,
    parts: { loadAgent: load },
  })
  stop.abort('SIGINT')
  while (clock.waiting === 0) await settle()
  await clock.advance(5_000)
  t.match(await running, { code: 1, err: /not stopped in time/ })
  t.match(await run(['agent', '--node-name', 'a']), {
    code: 1,
    err: 'edge-health: this build has no agent\n',
  })
})

t.test('the log level moves while it runs, and errors are one line', t => {
  let text = ''
  const output = { write: (line: string | Uint8Array) => (text += String(line)) }
  const log = makeLogger({ nodeName: 'n', logLevel: 'warn' }, 'agent', output)
  log.info('hidden')
  log.setVerbosity(4)
  log.debug('shown', { big: 1n })
  log.setVerbosity(0)
  log.info('hidden again')
  log.error('failed', { error: new Error('why\nnot') })
  for (let i = 0; i < 3; i++) log.error('bug: a view failed', { i })
  t.match(linesOf(text), [
    { level: 'debug', msg: 'shown', big: '1' },
    { level: 'error', error: 'why\nnot' },
    { level: 'error', msg: 'bug: a view failed', i: 0 },
  ])
  t.equal(linesOf(text).length, 3)
  t.end()
})

t.test('a lazy command gets its own arguments and is loaded only when called', async t => {
  let loads = 0
  const seen: unknown[] = []
  const lazy = {
    name: 'demo',
    description: 'a whole zone on this machine',
    load: () => {
      loads++
      return Promise.resolve({
        register: (program: Command) => {
          program
            .command('demo')
            .option('--nodes <n>', 'how many', '5')
            .action(flags => {
              seen.push(flags)
            })
        },
      })
    },
  }
  const parts = { lazyCommands: [lazy] }
  t.match((await run(['--help'], { parts })).out, /demo .*a whole zone on this machine/)
  t.equal(loads, 0)
  t.equal((await run(['demo', '--nodes', '7'], { parts })).code, 0)
  t.strictSame(seen, [{ nodes: '7' }])
  t.match((await run(['demo', '--help'], { parts })).out, /--nodes <n>/)
  t.match(await run(['demo', '--nods', '7'], { parts }), {
    code: 2,
    err: /^edge-health: unknown option '--nods'.*\n$/,
  })
})

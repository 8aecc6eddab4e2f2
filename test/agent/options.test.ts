// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { agentOptionSet, definitions, optionKeys } from '../../agent/options/definitions.js'
import { profileNames } from '../../agent/options/profiles.js'
import {
  describeOptions,
  resolveAgentOptions,
  type ResolvedAgentOptions,
} from '../../agent/options/resolve.js'
import type { AgentOptions } from '../../agent/options/agent-options.js'
import { envName } from '../../options/definition.js'
import { nearest } from '../../options/nearest.js'
import { parseConfigFile } from '../../options/config-file.js'
import { configPathOf, originText } from '../../options/resolve.js'
import { foreignFlags, type OptionSources } from '../../options/sources.js'

const { definitions: allDefinitions } = agentOptionSet

interface Given {
  readonly flags?: readonly string[]
  readonly env?: OptionSources['env']
  readonly config?: string
}

/** `name=text` flags; the node's name is given unless a test gives it. */
const resolve = async ({ flags = [], env = {}, config }: Given): Promise<ResolvedAgentOptions> =>
  resolveAgentOptions({
    flags: ['node-name=n1', ...flags].map(flag => {
      const at = flag.indexOf('=')
      return { name: flag.slice(0, at), text: flag.slice(at + 1) }
    }),
    env,
    config: config === undefined ? undefined : await parseConfigFile('/etc/eh.yaml', config),
  })

/** The value of this name, many times. */
const many = (name: string): string => Array.from({ length: 12 }, () => `*${name}`).join(', ')

const messageOf = async (given: Given): Promise<string> => {
  try {
    await resolve(given)
    return 'accepted'
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : 'not an error'
  }
}

t.test('the defaults are those of the options’ documentation', async t => {
  const { options, origin, notices } = await resolve({})
  t.match(options, {
    nodeName: 'n1',
    nodeAddress: undefined,
    port: 51_005,
    localAddress: '127.0.0.1',
    localPort: 51_005,
    checkPeriodMs: 10_000,
    scoreLine: 100_000_000,
    attemptSpacingMs: 500,
    attemptsMin: 4,
    attemptsMax: 6,
    exchangePeriodMs: 5_000,
    burstMs: 15_000,
    recordTtlMs: 60_000,
    writeHoldMs: 5_000,
    brakeShare: 0.4,
    witness: 'apiserver',
    vouch: 'lease',
    deadTaint: undefined,
    cutTaint: { key: 'edge-health/cloud-link-cut', effect: 'NoSchedule' },
    stateDir: '/var/lib/edge-health',
    allowDefaultHmacKey: false,
  })
  t.strictSame(
    options.plugins.map(({ name, weight, port }) => [name, weight, port]).slice(0, 1),
    [['kubeletauth', 500_000, 10_250]],
    'the kubelet’s port, half',
  )
  t.equal(options.plugins[1]?.name, 'selfreport')
  t.equal(options.plugins[0]?.tokenFile, undefined, 'no token leaves the node')
  t.ok(Object.isFrozen(options), 'frozen')
  t.equal(originText(origin.checkPeriodMs), 'default')
  t.strictSame(notices, [])
})

t.test(
  'every option is documented, has an own name, and its default and profiles obey its rule',
  t => {
    const names = allDefinitions.map(definition => definition.flag)
    t.equal(new Set(names).size, names.length, 'no name twice')
    t.equal(allDefinitions.length, optionKeys.length + 5, 'each option and each plugin once')
    for (const { flag, kind, default: text, profiles = {}, summary } of allDefinitions) {
      t.match(flag, /^[a-z]+(-[a-z]+)*$/)
      t.match(summary, /^[^\n]{5,160}[^.]$/, `${flag} says what it is`)
      for (const value of [text, ...Object.values(profiles)]) {
        if (value === undefined) continue
        const parsed = kind.parse(value, flag)
        t.ok(parsed, `${flag} accepts ${value}`)
        const shown = kind.format(parsed!.value)
        t.strictSame(kind.parse(shown, flag), parsed, `${flag}: ${shown} reads back`)
      }
    }
    t.equal(
      foreignFlags(agentOptionSet).filter(name => name !== 'kubeconfig' && names.includes(name))
        .length,
      0,
    )
    t.end()
  },
)

t.test('each profile is a set that obeys all rules', async t => {
  for (const profile of profileNames) {
    const { options, origin } = await resolve({ flags: [`profile=${profile}`] })
    const want = { default: 10_000, fast: 1_000, superedge: 10_000 }[profile]
    t.equal(options.checkPeriodMs, want)
    t.equal(
      originText(origin.checkPeriodMs),
      profile === 'fast' ? 'profile fast' : originText(origin.checkPeriodMs),
    )
  }
  t.match((await resolve({ flags: ['profile=superedge'] })).options, {
    checkPeriodMs: 10_000,
    exchangePeriodMs: 10_000,
    votePeriodMs: 10_000,
    recordTtlMs: 60_000,
    exchangeTimeoutMs: 3_000,
  })
  t.match((await resolve({ flags: ['profile=fast'] })).options, {
    attemptSpacingMs: 200,
    attemptTailMs: 400,
    attemptsMax: 8,
    recordTtlMs: 10_000,
    reaffirmWindowMs: 3_000,
    writeHoldMs: 1_000,
    pushBatchMs: 20,
  })
})

t.test(
  'flags win over the environment, that over the file, that over the profile, that over the default',
  async t => {
    const config = 'profile: fast\ncheck-period: 4s\nwrite-hold: 3s\nvote-period: 7s\n'
    const env = { EDGE_HEALTH_CHECK_PERIOD: '3s', EDGE_HEALTH_VOTE_PERIOD: '6s' }
    const { options, origin, profile } = await resolve({ flags: ['check-period=2s'], env, config })
    const rows: [keyof AgentOptions, unknown, string][] = [
      ['checkPeriodMs', 2_000, '--check-period'],
      ['votePeriodMs', 6_000, 'EDGE_HEALTH_VOTE_PERIOD'],
      ['writeHoldMs', 3_000, '/etc/eh.yaml'],
      ['recordTtlMs', 10_000, 'profile fast'],
      ['port', 51_005, 'default'],
    ]
    for (const [key, value, from] of rows) {
      t.equal(options[key], value, key)
      t.equal(originText(origin[key]), from, `${key} comes from ${from}`)
    }
    t.equal(profile, 'fast')
    t.equal((await resolve({ env: { EDGE_HEALTH_PROFILE: 'default' }, config })).profile, 'default')
    t.equal(
      (await resolve({ flags: ['check-period=2s', 'check-period=5s'] })).options.checkPeriodMs,
      5_000,
      'the last flag wins',
    )
  },
)

t.test('the environment: downward API names, empty values, Service links, unknown names', t => {
  const env = {
    NODE_NAME: 'from-env',
    NODE_IP: '10.0.0.7',
    EDGE_HEALTH_VOUCH: '',
    EDGE_HEALTH_PORT: 'tcp://10.96.0.1:51005',
    EDGE_HEALTH_PORT_51005_TCP_ADDR: '10.96.0.1',
    EDGE_HEALTH_SERVICE_HOST: '10.96.0.1',
    EDGE_HEALTH_AGENT: 'http://127.0.0.1:51005',
    EDGE_HEALTH_CHEK_PERIOD: '1s',
    PATH: '/bin',
  }
  const { options, notices, origin } = resolveAgentOptions({ flags: [], env })
  t.equal(options.nodeName, 'from-env')
  t.equal(options.nodeAddress, '10.0.0.7')
  t.equal(originText(origin.nodeName), 'NODE_NAME')
  t.equal(options.port, 51_005, 'a Service called edge-health changes nothing')
  t.equal(options.vouch, 'lease', 'empty is not given')
  t.strictSame(notices, [
    'EDGE_HEALTH_CHEK_PERIOD is not an option (did you mean EDGE_HEALTH_CHECK_PERIOD?)',
  ])
  const both = { NODE_NAME: 'a', EDGE_HEALTH_NODE_NAME: 'b' }
  t.equal(resolveAgentOptions({ flags: [], env: both }).options.nodeName, 'b', 'the own name wins')
  t.end()
})

t.test('SuperEdge’s flags are honoured, not overwritten by defaults', async t => {
  const flags = [
    'healthcheckperiod=7',
    'healthcheckscoreline=50',
    'communicateperiod=4',
    'communicatetimetout=1',
    'communicateretrytime=3',
    'communicateserverport=6000',
    'voteperiod=9',
    'votetimeout=30',
    'hostname=edge-1',
    'masterurl=https://10.0.0.1:6443',
    'kubeconfig=/root/.kube/config',
    'kubeletauthplugin=timeout=5,retrytime=3,weight=1,port=10250',
    'v=4',
    'alsologtostderr=true',
    'log_dir=/var/log',
  ]
  const { options, notices } = await resolve({ flags })
  t.match(options, {
    checkPeriodMs: 7_000,
    scoreLine: 50_000_000,
    exchangePeriodMs: 4_000,
    superedgePeriodMs: 4_000,
    exchangeTimeoutMs: 1_000,
    superedgeAttempts: 3,
    port: 6_000,
    localPort: 6_000,
    votePeriodMs: 9_000,
    recordTtlMs: 30_000,
    nodeName: 'edge-1',
    masterUrl: 'https://10.0.0.1:6443',
    kubeconfig: '/root/.kube/config',
    logLevel: 'debug',
  })
  t.strictSame(
    options.plugins.map(({ name, weight }) => [name, weight]),
    [['kubeletauth', 1_000_000]],
  )
  t.equal(notices.length, 3, 'two klog flags and the replaced timeout are told')
  t.match(notices.join('\n'), /--kubeletauthplugin: .* replace timeout and retrytime/)
  t.equal(
    (await resolve({ flags: ['communicatetimeout=1s'] })).options.exchangeTimeoutMs,
    1_000,
    'the right spelling, with a unit',
  )
})

t.test('any plugin in a source makes that source’s plugins the whole set', async t => {
  const names = async (given: Given): Promise<string> =>
    (await resolve(given)).options.plugins.map(({ name }) => name).join()
  t.equal(await names({}), 'kubeletauth,selfreport')
  t.equal(await names({ flags: ['pingplugin=weight=1'] }), 'ping')
  t.equal(
    await names({ config: 'ping-plugin: weight=0.5\nkubelet-plugin: [weight=0.5]\n' }),
    'ping,kubelet',
  )
  t.equal(
    await names({
      env: { EDGE_HEALTH_KUBELET_PLUGIN: 'weight=1' },
      config: 'ping-plugin: weight=1',
    }),
    'kubelet',
    'a stronger source is not mixed with a weaker one',
  )
})

t.test('a bad value is refused with option, rule and value', async t => {
  const isDuration = 'with its unit, such as 10s, 500ms or 1m'
  const rows: [why: string, given: Given, message: string][] = [
    [
      'a bare number',
      { flags: ['check-period=10'] },
      `--check-period must be a duration from 100ms to 1h ${isDuration}, got "10"`,
    ],
    [
      'SuperEdge’s zero',
      { flags: ['healthcheckperiod=0'] },
      `--healthcheckperiod must be a duration from 100ms to 1h ${isDuration}, got "0s"`,
    ],
    [
      'the environment',
      { env: { EDGE_HEALTH_BRAKE_SHARE: '0' } },
      'EDGE_HEALTH_BRAKE_SHARE must be a share above 0 and up to 100%, such as 40% or 0.4, got "0"',
    ],
    [
      'the file',
      { config: 'vouch: maybe' },
      '/etc/eh.yaml: vouch must be one of lease, taint, off, got "maybe"',
    ],
    ['a port', { flags: ['port=70000'] }, '--port must be a port from 1 to 65535, got "70000"'],
    [
      'an address',
      { flags: ['node-address=[::1]'] },
      '--node-address must be an IPv4 or IPv6 address without brackets, or none, got "[::1]"',
    ],
    [
      'a taint',
      { flags: ['dead-taint=key'] },
      '--dead-taint must be a taint such as key:NoSchedule or key=value:NoExecute, or none, got "key"',
    ],
    [
      'a selector with a key that the apiserver refuses',
      { flags: ['edge-selector=role=edge,!site-.example.com/x'] },
      '--edge-selector must be a label selector such as role=edge,!spare or zone in (a,b), got "role=edge,!site-.example.com/x"',
    ],
    [
      'a selector',
      { flags: ['edge-selector=a b'] },
      '--edge-selector must be a label selector such as role=edge,!spare or zone in (a,b), got "a b"',
    ],
    [
      'a URL',
      { flags: ['self-report-url=ftp://x'] },
      '--self-report-url must be a URL that starts with http:// or https://, got "ftp://x"',
    ],
    [
      'a profile',
      { flags: ['profile=quick'] },
      '--profile must be one of default, fast, superedge, got "quick"',
    ],
    ['klog', { flags: ['v=11'] }, '--v must be a whole number from 0 to 10, got "11"'],
    [
      'an unknown flag',
      { flags: ['chek-period=1s'] },
      'option must be a known one (did you mean --check-period?), got "--chek-period"',
    ],
    [
      'an unknown key',
      { config: 'chek-period: 1s' },
      '/etc/eh.yaml: key must be the name of an option (did you mean check-period?), got "chek-period"',
    ],
    [
      'a list',
      { config: 'port: [1, 2]' },
      '/etc/eh.yaml: port must be a single value, got {"port":["1","2"]}',
    ],
    ['no map', { config: '- a' }, '/etc/eh.yaml must be a map of options, got ["a"]'],
    [
      'aliases that grow',
      { config: `a: &a [x]\nb: &b [${many('a')}]\nc: &c [${many('b')}]\nd: [${many('c')}]` },
      '/etc/eh.yaml must be YAML that can be read, got "Excessive alias count',
    ],
    ['no YAML', { config: 'a: [' }, '/etc/eh.yaml: line 1 must be YAML, got "Flow sequence'],
    [
      'a key twice',
      { config: 'port: 1\nport: 2' },
      '/etc/eh.yaml: line 2 must be YAML, got "Map keys must be unique at line 2, column 1:"',
    ],
    [
      'a plugin’s key',
      { flags: ['ping-plugin=prot=1'] },
      '--ping-plugin: prot is not a key of this plugin',
    ],
    [
      'weights that cannot reach the line',
      { flags: ['pingplugin=weight=0.5'] },
      'weights of the check plugins must add up to the score line 100',
    ],
  ]
  for (const [why, given, message] of rows) {
    const got = await messageOf(given)
    t.equal(
      got.slice(0, `InvalidInputError: ${message}`.length),
      `InvalidInputError: ${message}`,
      why,
    )
    t.notMatch(got, /\n/, `${why}: one line`)
  }
  t.throws(() => resolveAgentOptions({ flags: [], env: {} }), {
    message: '--node-name must be given, or NODE_NAME in the environment, got nothing',
  })
})

t.test('rules between options name both and where the value came from', async t => {
  const rows: [flags: string[], message: string][] = [
    [
      ['exchange-period=40s'],
      '--record-ttl (default) must be at least twice --exchange-period (40s), got "60s"',
    ],
    [['record-ttl=15s'], '--record-ttl must be at least twice --superedge-period (10s), got "15s"'],
    [['attempts-min=7'], '--attempts-min must be at most --attempts-max (6), got "7"'],
    [
      ['check-period=1s'],
      '--down-check-period (default) must be at most --check-period (1s), got "2s"',
    ],
    [
      ['metrics-address=0.0.0.0:51005'],
      '--metrics-address must have another port than --port (51005), got "0.0.0.0:51005"',
    ],
    [
      ['metrics-address=0.0.0.0:51009', 'port=51010', 'local-port=51009'],
      '--metrics-address must have another port than --local-port (51009), got "0.0.0.0:51009"',
    ],
    [
      ['metrics-address=0.0.0.0:51009', 'metrics-cert-file=/c'],
      '--metrics-cert-file must be given if and only if --metrics-key-file is, got "/c"',
    ],
    [
      ['metrics-cert-file=/c', 'metrics-key-file=/k'],
      '--metrics-cert-file must be left out unless --metrics-address is given, got "/c"',
    ],
    [
      ['witness=target'],
      '--witness-target (default) must be given when --witness is target, got ""',
    ],
    [
      ['witness-target=tcp://10.0.0.1:53'],
      '--witness-target must be left out unless --witness is target (it is apiserver), got "tcp://10.0.0.1:53"',
    ],
    [['vouch-fresh=2m'], '--vouch-fresh must be at most --record-ttl (60s), got "2m"'],
    [['write-hold=60s'], '--write-hold must be below --record-ttl (60s), got "60s"'],
    [['burst-period=6s'], '--burst-period must be at most --exchange-period (5s), got "6s"'],
    [
      ['reaffirm-window=900ms'],
      '--reaffirm-window must be at least twice --burst-period (500ms), got "900ms"',
    ],
    [
      ['cloud-check-timeout=11s'],
      '--cloud-check-timeout must be at most --cloud-check-period (10s), got "11s"',
    ],
    [['exchange-timeout=60s'], '--exchange-timeout must be below --record-ttl (60s), got "60s"'],
    [
      ['dead-taint=edge-health/cloud-link-cut:NoSchedule'],
      '--dead-taint must differ in key or effect from --cut-taint (edge-health/cloud-link-cut:NoSchedule), got "edge-health/cloud-link-cut:NoSchedule"',
    ],
    [
      ['node-address=127.0.0.1'],
      '--local-port (default) must differ from --port (51005), since both listen on 127.0.0.1, got "51005"',
    ],
  ]
  for (const [flags, message] of rows)
    t.equal(await messageOf({ flags }), `InvalidInputError: ${message}`)
  t.equal(
    await messageOf({ flags: ['witness=target', 'witness-target=tcp://10.0.0.1:53'] }),
    'accepted',
  )
  t.equal(await messageOf({ flags: ['cut-taint=none', 'dead-taint=a=b:NoExecute'] }), 'accepted')
  t.match((await resolve({ flags: ['local-address=10.0.0.9'] })).notices, [/is not loopback/])
})

t.test('kinds: what is read is what is shown', t => {
  const rows: [flag: string, text: string, shown: string][] = [
    ['check-period', '1m30s', '90s'],
    ['check-period', '1.5s --', ''],
    ['check-period', '1.5s', '1500ms'],
    ['check-period', '0.0001s', ''],
    ['record-ttl', '5m', '5m'],
    ['brake-share', '0.29', '29%'],
    ['brake-share', '100.1%', ''],
    ['score-line', '99.999999', '99.999999'],
    ['score-line', '100.000001', ''],
    ['port', '051', '51'],
    ['port', '1e3', ''],
    ['node-name', 'Upper', ''],
    [
      'edge-selector',
      'a,!b,c=d,e!=f,x.io/g in (h, i),j notin (k)',
      'a,!b,c=d,e!=f,x.io/g in (h, i),j notin (k)',
    ],
    ['witness-target', 'tcp://10.0.0.1', ''],
    ['kubeconfig', 'none', ''],
    ['dead-taint', 'x.io/a=b:NoExecute', 'x.io/a=b:NoExecute'],
    ['kubeletauth-plugin', 'weight=0.29, port=1, ca=/ca', 'weight=0.29,port=1,ca=/ca'],
    ['http-plugin', 'url=http://{address}:80/,weight=1', 'weight=1,url=http://{address}:80/'],
  ]
  for (const [flag, text, shown] of rows) {
    const { kind } = allDefinitions.find(definition => definition.flag === flag)!
    const parsed = kind.parse(text, flag)
    t.equal(parsed === undefined ? '' : kind.format(parsed.value), shown, `${flag} ${text}`)
  }
  t.end()
})

t.test('what is described can be given again', async t => {
  const flags = [
    'profile=fast',
    'dead-taint=a:NoExecute',
    'ping-plugin=weight=1,port=99',
    'brake-share=33%',
  ]
  const first = await resolve({ flags })
  const config = describeOptions(first)
    .map(({ flag, texts }) => `${flag}: ${JSON.stringify(texts.join())}`)
    .join('\n')
  t.strictSame((await resolve({ config })).options, first.options)
  t.equal(
    configPathOf({ flags: [{ name: 'config', text: 'a' }], env: { EDGE_HEALTH_CONFIG: 'b' } }),
    'a',
  )
  t.equal(configPathOf({ flags: [], env: { EDGE_HEALTH_CONFIG: 'b' } }), 'b')
  t.equal(configPathOf({ flags: [], env: { EDGE_HEALTH_CONFIG: '' } }), undefined)
  t.equal(envName(definitions.checkPeriodMs.flag), 'EDGE_HEALTH_CHECK_PERIOD')
  t.strictSame(
    (await resolve({ config: '' })).options,
    (await resolve({ config: '# nothing\n' })).options,
  )
})

t.test('the nearest name', t => {
  t.equal(nearest('votch', ['vouch', 'vote']), 'vouch')
  t.equal(nearest('ehco', ['echo']), 'echo', 'a swap is one slip')
  t.equal(nearest('zzzzzz', ['vouch']), undefined)
  t.equal(nearest('x'.repeat(100_000), ['vouch']), undefined, 'long nonsense costs nothing')
  t.end()
})

// SPDX-License-Identifier: Apache-2.0
// From option text to a set of plugins that can judge, and the arithmetic of the score.
import fc from '../../testkit/properties.js'
import t from 'tap'
import type { CheckPlugin, ProbeResult } from '../../core/check.js'
import {
  checkPluginSet,
  makePlugins,
  parsePluginSpec,
  pluginNames,
} from '../../plugins/registry.js'
import { parseWeight, scoreOf } from '../../plugins/score.js'
import type { PluginSeams } from '../../plugins/seams.js'

const LINE = 100_000_000
const never = (): never => {
  throw new Error('not at start')
}
const seams: PluginSeams = {
  dial: { connect: never },
  http: { get: never, close: never },
  readFile: never,
  selfReport: never,
}

t.test('the option text of each plugin', t => {
  t.strictSame(pluginNames, ['ping', 'kubelet', 'kubeletauth', 'http', 'selfreport'])
  const cases: [name: string, text: string, want: object][] = [
    ['ping', 'weight=1', { name: 'ping', weight: 1_000_000, port: 10250 }],
    ['kubelet', 'weight=0.3', { name: 'kubelet', weight: 300_000, port: 10248 }],
    [
      'kubeletauth',
      'timeout=5,retrytime=3,weight=1,port=10250',
      { name: 'kubeletauth', weight: 1_000_000, port: 10250, replaced: ['timeout', 'retrytime'] },
    ],
    [
      'kubeletauth',
      ' timeout = 5 , weight=.5, ca = /a/ca.pem , token-file=/a/token ',
      {
        name: 'kubeletauth',
        weight: 500_000,
        port: 10250,
        ca: '/a/ca.pem',
        tokenFile: '/a/token',
        replaced: ['timeout'],
      },
    ],
    [
      'http',
      'url=https://{address}:8443/a?b=c,weight=2.000001',
      { name: 'http', weight: 2_000_001, port: 0, url: 'https://{address}:8443/a?b=c' },
    ],
    [
      'http',
      'url=http://{name}/',
      { name: 'http', weight: 1_000_000, port: 0, url: 'http://{name}/' },
    ],
    ['selfreport', 'weight=1', { name: 'selfreport', weight: 1_000_000, port: 0 }],
  ]
  for (const [name, text, want] of cases) {
    const spec = parsePluginSpec(name, text)
    t.strictSame(spec, want, `${name}: ${text}`)
    t.ok(Object.isFrozen(spec))
  }
  t.end()
})

t.test('what is refused, with option, key, rule and value', t => {
  const cases: [name: string, text: string, message: string | RegExp][] = [
    ['ping', '', /^--ping-plugin must not be empty/],
    ['ping', ' ', /^--ping-plugin must not be empty/],
    ['ping', 'weight=1,', '--ping-plugin must be key=value pairs with commas between, got ""'],
    ['ping', 'port', '--ping-plugin must be key=value pairs with commas between, got "port"'],
    ['ping', 'port=', '--ping-plugin: port must not be empty, got "port="'],
    ['ping', 'port=1,port=2', '--ping-plugin: port must be given once, got "port=2"'],
    [
      'ping',
      'ca=insecure',
      '--ping-plugin: ca is not a key of this plugin, which takes weight, port, timeout, retrytime, got "insecure"',
    ],
    ['ping', 'Port=1', /^--ping-plugin: Port is not a key/],
    ...['0', '65536', '-1', '1e3', '80.5', 'x', '0x10'].map((port): [string, string, string] => [
      'ping',
      `port=${port}`,
      `--ping-plugin: port must be a whole number from 1 to 65535, got "${port}"`,
    ]),
    ...['0', 'x', '-1', '3601', '1.5'].flatMap(bad =>
      ['timeout', 'retrytime'].map((key): [string, string, string] => [
        'kubeletauth',
        `${key}=${bad}`,
        `--kubeletauth-plugin: ${key} must be a whole number from 1 to 3600, got "${bad}"`,
      ]),
    ),
    ...['0', '0.0', '0.000000'].map((weight): [string, string, string] => [
      'ping',
      `weight=${weight}`,
      `--ping-plugin: weight must be above 0, got "${weight}"`,
    ]),
    ...['-1', '1e1', '.', 'NaN', '0.0000001', '1234567', '1,5'.replace(',', '_')].map(
      (weight): [string, string, RegExp] => [
        'ping',
        `weight=${weight}`,
        /^--ping-plugin: weight must be a decimal number/,
      ],
    ),
    ['http', 'weight=1', '--http-plugin: url must be given, got nothing'],
    ['http', 'url=http://a/', /^--http-plugin: url must contain \{address\} or \{name\}/],
    ['http', 'url=http://{address}/{x}', /^--http-plugin: url must have no places other than/],
    [
      'http',
      'url=ftp://{address}/',
      '--http-plugin: url must be an http or https URL, got "ftp://{address}/"',
    ],
    ['http', 'url={address}', /must be an http or https URL/],
    ['http', 'url=http://a:b@{address}/', /^--http-plugin: url must not contain a password/],
    ['http', 'url=http://a@{address}/', /must not contain a password/],
    ['http', 'url=http://:b@{address}/', /must not contain a password/],
    [
      'icmp',
      'weight=1',
      'check plugin must be one of ping, kubelet, kubeletauth, http, selfreport, got "icmp"',
    ],
  ]
  for (const [name, text, message] of cases)
    t.throws(
      () => parsePluginSpec(name, text),
      { code: 'INVALID_INPUT', message },
      `${name}: ${text}`,
    )
  t.throws(
    () => parsePluginSpec('ping', 'port=0', '--pingplugin'),
    { message: /^--pingplugin: port must/ },
    'the caller names the option',
  )
  t.end()
})

t.test('a set that cannot judge is refused', t => {
  const sets: [why: string, texts: [string, string][], line: number, message: string | RegExp][] = [
    [
      'no plugin at all',
      [],
      LINE,
      'check plugins must be at least one, or nothing is checked, got []',
    ],
    [
      'one twice',
      [
        ['ping', 'weight=1'],
        ['kubelet', 'weight=1'],
        ['ping', 'weight=1'],
      ],
      LINE,
      /^--ping-plugin must be given once/,
    ],
    [
      'everybody is always down',
      [
        ['ping', 'weight=0.5'],
        ['kubelet', 'weight=0.499999'],
      ],
      LINE,
      'weights of the check plugins must add up to the score line 100, or every node is always down, got "99.9999"',
    ],
    [
      'nobody is ever down',
      [
        ['selfreport', 'weight=1'],
        ['ping', 'weight=1'],
      ],
      LINE,
      /^weights of plugins that do not reach the node must stay below the score line 100/,
    ],
  ]
  for (const [why, texts, line, message] of sets) {
    const specs = texts.map(([name, text]) => parsePluginSpec(name, text))
    t.throws(() => checkPluginSet(specs, line), { code: 'INVALID_INPUT', message }, why)
    t.throws(() => makePlugins(specs, seams, line), { message }, why)
  }
  const made = [
    { spec: { name: 'icmp', weight: 1_000_000, port: 0 }, message: /^check plugin must be one of/ },
    {
      spec: { name: 'ping', weight: 0, port: 1 },
      message: /^--ping-plugin: weight must be above 0/,
    },
    { spec: { name: 'ping', weight: NaN, port: 1 }, message: /weight must be above 0/ },
    { spec: { name: 'http', weight: 1_000_000, port: 0 }, message: /url must be given/ },
    {
      spec: { name: 'kubeletauth', weight: 1e6, port: 1, ca: 'insecure', tokenFile: '/t' },
      message: /without verified TLS/,
    },
  ]
  for (const { spec, message } of made)
    t.throws(() => makePlugins([spec], seams, LINE), { message })
  const plugins = makePlugins(
    [parsePluginSpec('kubeletauth', 'weight=0.5'), parsePluginSpec('selfreport', 'weight=0.5')],
    seams,
    LINE,
  )
  t.strictSame(
    plugins.map(({ name, weight }) => [name, weight]),
    [
      ['kubeletauth', 500_000],
      ['selfreport', 500_000],
    ],
    'the shipped set, in the order of its specs',
  )
  t.end()
})

const plugin = (weight: string, name = `p${weight}`): CheckPlugin => ({
  name,
  weight: parseWeight(weight),
  reachesNode: !name.startsWith('word'),
  probe: never,
})

type Kind = ProbeResult['kind'] | 'open'

const score = (line: number, ...rows: [weight: string, kind: Kind][]) => {
  const plugins = rows.map(([weight], index) => plugin(weight, `p${index}`))
  const results = new Map<CheckPlugin, ProbeResult['kind']>()
  rows.forEach(([, kind], index) => {
    if (kind !== 'open') results.set(plugins[index]!, kind)
  })
  return scoreOf(plugins, results, line)
}

t.test('weights add up exactly, in whatever decimals they are given', t => {
  t.equal(0.29 + 0.57 + 0.14 < 1, true, 'floats would fail here')
  t.strictSame(score(LINE, ['0.29', 'success'], ['0.57', 'success'], ['0.14', 'success']), {
    score: LINE,
    verdict: 'up',
  })
  t.equal(parseWeight(' 1. '), 1_000_000)
  t.equal(parseWeight('00.10'), 100_000)
  const cents = fc.array(fc.integer({ min: 1, max: 999_999 }), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(cents, parts => {
      const total = parts.reduce((sum, part) => sum + part, 0)
      const rows = parts.map((part): [string, Kind] => [
        `${Math.floor(part / 1e6)}.${String(part).padStart(6, '0')}`,
        'success',
      ])
      return score(100 * total, ...rows).verdict === 'up'
    }),
  )
  t.end()
})

t.test('the verdict of a round', t => {
  const cases: [why: string, rows: [string, Kind][], verdict: string, points: number][] = [
    ['one success', [['1', 'success']], 'up', 100],
    ['one failure', [['1', 'failure']], 'down', 0],
    ['one unknown says nothing', [['1', 'unknown']], 'void', 100],
    [
      'all unknown say nothing',
      [
        ['0.5', 'unknown'],
        ['0.5', 'unknown'],
      ],
      'void',
      100,
    ],
    ['nothing is known yet', [['1', 'open']], 'open', 0],
    [
      'an unknown lowers nobody',
      [
        ['0.5', 'success'],
        ['0.5', 'unknown'],
      ],
      'up',
      100,
    ],
    [
      'nor does it save anybody',
      [
        ['0.5', 'failure'],
        ['0.5', 'unknown'],
      ],
      'down',
      50,
    ],
    [
      'without a success nobody is called up',
      [
        ['1', 'failure'],
        ['1', 'unknown'],
      ],
      'void',
      100,
    ],
    [
      'the line is out of reach before all are done',
      [
        ['0.5', 'failure'],
        ['0.5', 'open'],
      ],
      'down',
      0,
    ],
    [
      'the line is reached before all are done',
      [
        ['1', 'success'],
        ['1', 'open'],
      ],
      'up',
      100,
    ],
    [
      'still open',
      [
        ['0.5', 'success'],
        ['0.5', 'open'],
      ],
      'open',
      50,
    ],
    [
      'an unknown waits for a success',
      [
        ['1', 'unknown'],
        ['1', 'open'],
      ],
      'open',
      100,
    ],
    [
      'either is enough',
      [
        ['1', 'failure'],
        ['1', 'success'],
      ],
      'up',
      100,
    ],
  ]
  for (const [why, rows, verdict, points] of cases)
    t.strictSame(score(LINE, ...rows), { verdict, score: points * 1_000_000 }, why)
  t.equal(score(50_000_000, ['0.5', 'success'], ['0.5', 'failure']).verdict, 'up', 'a lower line')
  t.equal(score(50_000_001, ['0.5', 'success'], ['0.5', 'failure']).verdict, 'down', 'a hair above')
  t.end()
})

t.test('FA3: what a node says of itself is no look at it', t => {
  const probe = plugin('0.5', 'probe')
  const other = plugin('0.5', 'other')
  const word = plugin('0.5', 'word')
  const verdict = (results: [CheckPlugin, ProbeResult['kind']][], plugins = [probe, word]) =>
    scoreOf(plugins, new Map(results), LINE).verdict
  const said: [CheckPlugin, 'success'] = [word, 'success']
  t.equal(verdict([said, [probe, 'unknown']]), 'void', 'the probe could not be made')
  t.equal(verdict([said]), 'open', 'it waits for the probe')
  t.equal(verdict([said, [probe, 'success']]), 'up')
  t.equal(verdict([said, [probe, 'failure']]), 'down')
  t.equal(
    verdict([
      [word, 'unknown'],
      [probe, 'success'],
    ]),
    'up',
  )
  t.equal(
    verdict([
      [word, 'failure'],
      [probe, 'unknown'],
    ]),
    'down',
    'its kubelet is bad',
  )
  const three = [probe, other, word]
  t.equal(verdict([said, [probe, 'failure'], [other, 'unknown']], three), 'void')
  t.end()
})

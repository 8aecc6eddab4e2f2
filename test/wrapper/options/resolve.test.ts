// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { InvalidInputError } from '../../../core/errors.js'
import { parseConfigFile } from '../../../options/config-file.js'
import type { OptionSources } from '../../../options/sources.js'
import { wrapperDefinitions } from '../../../wrapper/options/definitions.js'
import { describeWrapperOptions, resolveWrapperOptions } from '../../../wrapper/options/resolve.js'

const given = (
  flags: Record<string, string>,
  more: Partial<OptionSources> = {},
): OptionSources => ({
  flags: Object.entries({ 'node-name': 'n1', ...flags }).map(([name, text]) => ({ name, text })),
  env: {},
  ...more,
})
const resolve = (flags: Record<string, string>, more?: Partial<OptionSources>) =>
  resolveWrapperOptions(given(flags, more))

t.test('the defaults hold together', t => {
  const { options, notices } = resolve({})
  t.strictSame(notices, [])
  t.match(options, {
    nodeName: 'n1',
    bindAddress: { host: '127.0.0.1', port: 51_006 },
    statusAddress: { host: '127.0.0.1', port: 51_007 },
    insecure: true,
    autonomy: {
      ...{ isOn: true, intervalMs: 10_000, address: 'http://127.0.0.1:51005/localinfo' },
    },
  })
  t.ok(Object.isFrozen(options))
  t.end()
})

t.test('addresses', t => {
  const read = (text: string): object => resolve({ 'bind-address': text }).options.bindAddress
  t.strictSame(read('localhost:51006'), { host: '127.0.0.1', port: 51_006 }, "SuperEdge's default")
  t.strictSame(read('[::1]:1'), { host: '::1', port: 1 })
  t.strictSame(read('127.9.9.9:65535'), { host: '127.9.9.9', port: 65_535 })
  for (const bad of ['51006', ':51006', '127.0.0.1', '127.0.0.1:0', '127.0.0.1:65536', '::1:80'])
    t.throws(() => read(bad), { message: /--bind-address must be an IP address and a port/ }, bad)
  for (const bad of ['256.0.0.1:80', '[127.0.0.1]:80', '[::g]:80', 'node:80', ''])
    t.throws(() => read(bad), InvalidInputError, bad)
  for (const open of ['0.0.0.0:51006', '[::]:51006', '10.0.0.1:51006'])
    t.throws(() => read(open), { message: /--bind-address must be loopback/ }, open)
  t.end()
})

t.test('TLS needs its three files, and then may listen anywhere', t => {
  const files = { 'ca-file': '/ca', 'cert-file': '/cert', 'key-file': '/key' }
  const open = { insecure: 'false', 'bind-address': '0.0.0.0:51006' }
  t.match(resolve({ ...open, ...files }).options, { insecure: false, caFile: '/ca' })
  for (const missing of Object.keys(files)) {
    const some = Object.entries(files).filter(([name]) => name !== missing)
    t.throws(() => resolve({ ...open, ...Object.fromEntries(some) }), {
      message: new RegExp(`--${missing} \\(default\\) must be given when --insecure is false`),
    })
  }
  const { notices } = resolve({ ...files, 'status-address': '10.0.0.1:51007' })
  t.strictSame(notices, [
    '--ca-file is not used: --insecure is true',
    '--cert-file is not used: --insecure is true',
    '--key-file is not used: --insecure is true',
    '--status-address 10.0.0.1 is not loopback: anybody who reaches it can read /status',
  ])
  t.throws(() => resolve({ 'status-address': '127.0.0.1:51006' }), {
    message: /--status-address must differ from --bind-address/,
  })
  t.end()
})

t.test('--service-autonomy-enhancement: what SuperEdge swallows is refused', t => {
  const read = (text: string): object =>
    resolve({ 'service-autonomy-enhancement': text }).options.autonomy
  t.match(read('enabled=false'), { isOn: false, intervalMs: 10_000 }, 'the rest keeps our default')
  t.strictSame(read('enabled=true,interval=30,address=http://localhost:51005/localinfo?a=b=c'), {
    ...{ isOn: true, intervalMs: 30_000, address: 'http://localhost:51005/localinfo?a=b=c' },
  }) // prettier-ignore
  const rows: [text: string, rule: RegExp][] = [
    ['enabled', /must be key=value pairs/],
    ['', /must be key=value pairs/],
    ['enabled=yes', /: enabled must be true or false, got "yes"/],
    ['interval=0', /: interval must be from 1 to 3600 seconds, got "0"/],
    ['interval=30s', /: interval must be from 1 to 3600 seconds/],
    ['interval=3601', /: interval must be from 1 to 3600 seconds/],
    ['address=localhost:51005', /: address must be a URL/],
    ['enabeld=true', /must name enabled, interval or address only, got "enabeld"/],
    ['enabled=true,enabled=false', /must name each key once, got "enabled"/],
  ]
  for (const [text, message] of rows) t.throws(() => read(text), { message }, text)
  t.end()
})

t.test('--health-limit outlasts polls that fail', t => {
  const read = (autonomy: string, limit?: string): number =>
    resolve({
      'service-autonomy-enhancement': autonomy,
      ...(limit === undefined ? {} : { 'health-limit': limit }),
    }).options.healthLimitMs
  t.equal(read('enabled=true'), 300_000)
  const long = [100, 101, 600, 3_600].map(interval => read(`enabled=true,interval=${interval}`))
  t.strictSame(long, [300_000, 303_000, 1_800_000, 10_800_000], 'the default follows the interval')
  t.equal(read('interval=100', '5m'), 300_000, 'three intervals are enough')
  t.equal(read('interval=1', '10s'), 10_000)
  t.equal(read('enabled=false,interval=3600', '10s'), 10_000, 'who is not asked may be slow')
  const rule = (interval: number): string =>
    `must be at least 3 times interval=${interval} of --service-autonomy-enhancement`
  const rows: [autonomy: string, limit: string, message: string][] = [
    ['interval=101', '5m', `--health-limit ${rule(101)}, got "5m"`],
    ['interval=10', '29s', `--health-limit ${rule(10)}, got "29s"`],
    ['enabled=true', '10s', `--health-limit ${rule(10)}, got "10s"`],
  ]
  for (const [autonomy, limit, message] of rows)
    t.throws(() => read(autonomy, limit), { message }, message)
  const slow = resolve({ 'service-autonomy-enhancement': 'interval=600' })
  t.ok(Object.isFrozen(slow.options))
  t.match(
    describeWrapperOptions(slow).find(({ flag }) => flag === 'health-limit'),
    { texts: ['30m'], origin: { source: 'default' } },
    '--print-config shows what is used',
  )
  t.end()
})

t.test("SuperEdge's flags that do nothing say so", t => {
  const flags = { 'kube-qps': '1000', 'kube-burst': '1000', debug: 'true', alsologtostderr: 'true' }
  const { notices } = resolve({ ...flags, 'support-endpointslice': 'true' })
  t.equal(notices.length, 5)
  for (const [i, flag] of [...Object.keys(flags), 'support-endpointslice'].entries())
    t.match(
      notices.find(text => text.includes(`--${flag} `)),
      /does nothing/,
      `${i} ${flag}`,
    )
  t.end()
})

t.test('flag, environment, file, default: in this order', async t => {
  const config = await parseConfigFile('/c', 'health-limit: 1m\nsave-period: 1m\nboot-wait: 1s\n')
  const env = { EDGE_HEALTH_HEALTH_LIMIT: '2m', EDGE_HEALTH_SAVE_PERIOD: '2m', NODE_NAME: 'other' }
  const { options, origin } = resolve({ 'health-limit': '3m' }, { env, config })
  t.match(options, {
    ...{ healthLimitMs: 180_000, savePeriodMs: 120_000, bootWaitMs: 1_000, nodeName: 'n1' },
  }) // prettier-ignore
  t.equal(origin.bootWaitMs.source, 'config')
  const described = describeWrapperOptions(resolve({}))
  t.strictSame(
    described.map(({ flag }) => flag).sort(),
    Object.values(wrapperDefinitions)
      .map(({ flag }) => flag)
      .sort(),
  )
})

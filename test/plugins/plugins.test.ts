// SPDX-License-Identifier: Apache-2.0
// Every kind of check plugin against scripted seams: what is asked, and what each answer means.
import t from 'tap'
import type { CheckPlugin } from '../../core/check.js'
import type { HttpRequest } from '../../core/dial.js'
import { parseNodeName } from '../../core/ids.js'
import { makePlugins, parsePluginSpec } from '../../plugins/registry.js'
import type { PluginSeams } from '../../plugins/seams.js'
import { certificateFor } from '../../testkit/certificates.js'

const LINE = 100_000_000
const v4 = { name: parseNodeName('edge-1'), address: '10.0.0.7' }
const v6 = { name: parseNodeName('edge-2'), address: 'fd00::7' }
const { cert: PEM } = await certificateFor('10.0.0.7')

const never = (): AbortSignal => new AbortController().signal

const systemError = (code: string): Error =>
  Object.assign(new Error(`connect ${code} 10.0.0.7:10250`), { code })

interface Script {
  /** What each connection or request does. */
  readonly answer?: () => number | Promise<number>
  readonly files?: Readonly<Record<string, string>>
  readonly readFile?: PluginSeams['readFile']
  readonly word?: 'well' | 'bad' | 'unknown'
}

const worldOf = (script: Script) => {
  const dialled: [host: string, port: number][] = []
  const asked: HttpRequest[] = []
  const read: string[] = []
  const answer = async (): Promise<number> => (await script.answer?.()) ?? 200
  const fromFiles = (path: string): Promise<string> => {
    read.push(path)
    const text = script.files?.[path]
    return text === undefined ? Promise.reject(systemError('ENOENT')) : Promise.resolve(text)
  }
  const seams: PluginSeams = {
    dial: {
      connect: async (host, port) => {
        dialled.push([host, port])
        await answer()
      },
    },
    http: {
      get: async request => {
        asked.push(request)
        return { status: await answer() }
      },
      close: () => undefined,
    },
    readFile: script.readFile ?? fromFiles,
    selfReport: () => script.word ?? 'unknown',
  }
  return { seams, dialled, asked, read }
}

const pluginOf = (name: string, text: string, seams: PluginSeams): CheckPlugin => {
  const filler = parsePluginSpec(name === 'ping' ? 'kubelet' : 'ping', 'weight=1')
  return makePlugins([parsePluginSpec(name, text), filler], seams, LINE)[0]!
}

const probeWith = (name: string, text: string, script: Script, target = v4) => {
  const world = worldOf(script)
  const plugin = pluginOf(name, text, world.seams)
  const result = plugin.probe(target, { signal: never(), reuse: true })
  return { ...world, result }
}

const throwing = (code: string) => () => Promise.reject(systemError(code))

t.test('ping connects to the port, and to the address without brackets', async t => {
  const four = probeWith('ping', 'port=22', {})
  t.strictSame(await four.result, { kind: 'success' })
  t.strictSame(four.dialled, [['10.0.0.7', 22]])
  const six = probeWith('ping', 'weight=0.5', {}, v6)
  await six.result
  t.strictSame(six.dialled, [['fd00::7', 10250]], 'the kubelet port by default')
})

t.test('what the network does counts against a node, what breaks here does not', async t => {
  const cases: [code: string, kind: string, reason: string | RegExp][] = [
    ['ECONNREFUSED', 'failure', 'connection refused'],
    ['ECONNRESET', 'failure', 'connection reset'],
    ['EHOSTUNREACH', 'failure', 'host unreachable'],
    ['ENETUNREACH', 'failure', 'network unreachable'],
    ['ENETDOWN', 'failure', 'network down'],
    ['ETIMEDOUT', 'failure', 'connection timed out'],
    ['EPIPE', 'failure', 'connection closed'],
    ['EPROTO', 'failure', /^TLS: /],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'failure', /^TLS: /],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'failure', /^TLS: /],
    ['HPE_INVALID_CONSTANT', 'failure', 'answer is not HTTP'],
    ['CERT_NOT_YET_VALID', 'unknown', /by our clock$/],
    ['CERT_HAS_EXPIRED', 'unknown', /by our clock$/],
    ...[
      'EMFILE',
      'ENFILE',
      'EADDRNOTAVAIL',
      'ENOBUFS',
      'ENOMEM',
      'EACCES',
      'EPERM',
      'EAFNOSUPPORT',
      'ENOTFOUND',
      'EAI_AGAIN',
      'ERR_OSSL_PEM_NO_START_LINE',
      'ERR_INVALID_ARG_TYPE',
    ].map((code): [string, string, RegExp] => [code, 'unknown', new RegExp(code)]),
  ]
  for (const [code, kind, reason] of cases)
    for (const [name, text] of [
      ['ping', 'weight=1'],
      ['kubelet', 'weight=1'],
      ['kubeletauth', 'weight=1'],
      ['http', 'url=http://{address}/'],
    ] as const) {
      const { result } = probeWith(name, text, { answer: throwing(code) })
      t.match(await result, { kind, reason }, `${name}: ${code}`)
    }
  const bugs: [unknown, string][] = [
    [new TypeError('x is undefined'), 'x is undefined'],
    ['a string', '"a string"'],
    [Object.assign(new Error('odd'), { code: 7 }), 'odd'],
  ]
  for (const [thrown, reason] of bugs) {
    const answer = (): number => {
      throw thrown as Error
    }
    const { result } = probeWith('ping', 'weight=1', { answer })
    t.strictSame(await result, { kind: 'unknown', reason }, 'a bug is ours')
  }
})

t.test(
  'an aborted attempt is a failure without an answer, whatever the network throws',
  async t => {
    const texts = [
      ['ping', 'weight=1'],
      ['kubelet', 'weight=1'],
      ['kubeletauth', 'weight=1'],
      ['http', 'url=http://{address}/'],
    ] as const
    for (const [name, text] of texts) {
      const controller = new AbortController()
      const { seams } = worldOf({
        answer: () => {
          controller.abort()
          throw systemError('EMFILE')
        },
      })
      const attempt = { signal: controller.signal, reuse: false }
      const result = await pluginOf(name, text, seams).probe(v4, attempt)
      t.strictSame(result, { kind: 'failure', reason: 'no answer' }, name)
    }
  },
)

t.test('what each status means', async t => {
  const cases: [status: number, kubelet: string, http: string][] = [
    [200, 'success', 'success'],
    [204, 'success', 'success'],
    [302, 'success', 'success'],
    [400, 'success', 'HTTP 400'],
    [401, 'success', 'HTTP 401'],
    [403, 'success', 'HTTP 403'],
    [404, 'success', 'HTTP 404'],
    [429, 'success', 'HTTP 429'],
    [500, 'HTTP 500', 'HTTP 500'],
    [503, 'HTTP 503', 'HTTP 503'],
  ]
  for (const [status, forKubelet, forHttp] of cases)
    for (const [name, text, want] of [
      ['kubelet', 'weight=1', forKubelet],
      ['kubeletauth', 'weight=1', forKubelet],
      ['http', 'url=http://{address}/', forHttp],
    ] as const) {
      const { result } = probeWith(name, text, { answer: () => status })
      const expected = want === 'success' ? { kind: 'success' } : { kind: 'failure', reason: want }
      t.strictSame(await result, expected, `${name}: ${status}`)
    }
})

t.test('what is asked, with IPv6 in brackets', async t => {
  const cases: [name: string, text: string, v4: string, v6: string][] = [
    ['kubelet', 'port=10255', 'http://10.0.0.7:10255/healthz', 'http://[fd00::7]:10255/healthz'],
    ['kubelet', 'weight=1', 'http://10.0.0.7:10248/healthz', 'http://[fd00::7]:10248/healthz'],
    [
      'kubeletauth',
      'weight=1',
      'https://10.0.0.7:10250/healthz',
      'https://[fd00::7]:10250/healthz',
    ],
    [
      'http',
      'url=http://{address}:8080/x?n={name}&a={address}',
      'http://10.0.0.7:8080/x?n=edge-1&a=10.0.0.7',
      'http://[fd00::7]:8080/x?n=edge-2&a=[fd00::7]',
    ],
  ]
  for (const [name, text, four, six] of cases) {
    const { seams, asked } = worldOf({})
    const plugin = pluginOf(name, text, seams)
    await plugin.probe(v4, { signal: never(), reuse: true })
    await plugin.probe(v6, { signal: never(), reuse: false })
    t.strictSame(
      asked.map(request => [request.url, request.reuse]),
      [
        [four, true],
        [six, false],
      ],
    )
  }
})

t.test('a token goes only where the operator sends it, and only over verified TLS', async t => {
  const none = probeWith('kubeletauth', 'weight=1', {})
  await none.result
  t.match(none.asked[0], { ca: 'insecure', headers: undefined }, 'no token, no verification')
  t.strictSame(none.read, [])

  const verified = probeWith('kubeletauth', 'ca=/ca', { files: { '/ca': PEM } })
  await verified.result
  t.match(verified.asked[0], { ca: PEM, headers: undefined })

  const files = { '/ca': PEM, '/token': ' abc.def\n' }
  const both = probeWith('kubeletauth', 'ca=/ca,token-file=/token', { files })
  await both.result
  t.match(both.asked[0], { ca: PEM, headers: { authorization: 'Bearer abc.def' } })

  const system = probeWith('kubeletauth', 'token-file=/token', { files })
  await system.result
  t.match(system.asked[0], { ca: undefined, headers: { authorization: 'Bearer abc.def' } })

  const asked = probeWith('http', 'url=https://{address}/,ca=insecure', {})
  await asked.result
  t.match(asked.asked[0], { ca: 'insecure' })

  t.throws(() => parsePluginSpec('kubeletauth', 'token-file=/token,ca=insecure'), {
    code: 'INVALID_INPUT',
    message:
      '--kubeletauth-plugin: token-file must not be sent without verified TLS (give ca= a PEM file, or leave it out to trust the system), got "/token"',
  })
})

t.test(
  'files are read again on each use, and one that cannot be used says nothing about the node',
  async t => {
    const contents: Record<string, string> = { '/token': 'one', '/ca': PEM }
    const { seams, asked } = worldOf({ files: contents })
    const plugin = pluginOf('kubeletauth', 'token-file=/token,ca=/ca', seams)
    const probe = () => plugin.probe(v4, { signal: never(), reuse: true })
    await probe()
    contents['/token'] = 'two'
    await probe()
    t.strictSame(
      asked.map(request => request.headers),
      [{ authorization: 'Bearer one' }, { authorization: 'Bearer two' }],
    )
    contents['/ca'] = PEM.slice(0, 99)
    t.match(await probe(), { kind: 'unknown', needsRepair: true }, 'while it is being written')
    contents['/ca'] = PEM + PEM
    t.match(await probe(), { kind: 'success' })
    t.equal(asked.at(-1)!.ca, `${PEM.trim()}\n${PEM.trim()}\n`)
    const cases: [why: string, files: Record<string, string>, reason: string | RegExp][] = [
      ['no CA', { '/token': 'x' }, /^cannot read \/ca: .*ENOENT/],
      ['no token', { '/ca': PEM }, /^cannot read \/token: .*ENOENT/],
      ['an empty CA', { '/ca': '', '/token': 'x' }, 'cannot read /ca: it holds no certificate'],
      [
        'half a CA',
        { '/ca': PEM.slice(0, 99), '/token': 'x' },
        /^cannot read \/ca: 0 of its 1 cert/,
      ],
      ['an empty token', { '/ca': PEM, '/token': '\n' }, '/token holds no token'],
      ['a token of two lines', { '/ca': PEM, '/token': 'a\nb' }, '/token holds no token'],
    ]
    for (const [why, files, reason] of cases) {
      const { result, asked } = probeWith('kubeletauth', 'token-file=/token,ca=/ca', { files })
      t.match(await result, { kind: 'unknown', reason, needsRepair: true }, why)
      t.equal(asked.length, 0, 'nobody is asked')
    }
    const { result } = probeWith('http', 'url=https://{address}/,ca=/ca', {})
    t.match(await result, { kind: 'unknown', reason: /^cannot read \/ca/ })
  },
)

t.test('a file that is slow to read delays no probe beyond its time', async t => {
  const { seams } = worldOf({ readFile: () => new Promise(() => undefined) })
  const plugin = pluginOf('kubeletauth', 'token-file=/token', seams)
  const reason = 'cannot read /token: took too long to read'
  const want = { kind: 'unknown', reason, needsRepair: true }
  const controller = new AbortController()
  const probing = plugin.probe(v4, { signal: controller.signal, reuse: false })
  controller.abort()
  t.strictSame(await probing, want)
  t.strictSame(await plugin.probe(v4, { signal: AbortSignal.abort(), reuse: false }), want)
})

t.test("selfreport passes on the node's own word", async t => {
  const cases = [
    ['well', { kind: 'success' }],
    ['bad', { kind: 'failure', reason: 'its own agent says that its kubelet is bad' }],
    ['unknown', { kind: 'unknown' }],
  ] as const
  for (const [word, want] of cases) {
    const { result } = probeWith('selfreport', 'weight=0.5', { word })
    t.match(await result, want, word)
  }
})

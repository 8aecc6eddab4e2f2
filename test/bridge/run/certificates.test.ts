// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { SecretClient } from '../../../bridge/enroll/secrets.js'
import { makeAuthority } from '../../../bridge/enroll/signer.js'
import { keepServerPair, keepToken, loadCertificates } from '../../../bridge/run/certificates.js'
import { KubeStatusError } from '../../../core/errors.js'
import { isMap } from '../../../core/json.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

const DAY = 86_400_000
/** What makeAuthority gives. */
const LIFETIME = 36_500 * DAY

/** Secrets in memory. */
const makeClient = (): SecretClient => {
  const stored = new Map<string, object>()
  const keep = (name: string, body: object): object => {
    const kept = { ...body, metadata: { name, resourceVersion: '1' } }
    stored.set(name, kept)
    return kept
  }
  return {
    get: async (type, { name }) => {
      const found = stored.get(name)
      if (found === undefined)
        throw new KubeStatusError('scripted', { status: 404, reason: 'NotFound', message: '' })
      return type.parse(found)
    },
    create: async (type, _where, { body }) => {
      const { metadata } = body
      return type.parse(keep(isMap(metadata) ? String(metadata['name']) : '', body))
    },
    update: async (type, { name }, { body }) => type.parse(keep(name, body)),
  }
}

const openCertificates = async (leftMs: number, signal: AbortSignal) => {
  const clock = new FakeClock()
  const log = recordingLog()
  const client = makeClient()
  const { certificate, key } = await makeAuthority(clock.wall() - LIFETIME + leftMs)
  const data = {
    cadata: Buffer.from(certificate).toString('base64'),
    cakeydata: Buffer.from(key).toString('base64'),
  }
  const metadata = { name: 'casecret' }
  await client.create(
    { group: '', version: 'v1', resource: 'secrets', parse: raw => raw },
    { namespace: 'kubeedge' },
    { body: { data, metadata } },
    signal,
  )
  const seams = { client, clock, log, random: seededRandom(1) }
  const warnings = () => log.lines.filter(({ level }) => level === 'warn')
  return { clock, log, seams, warnings }
}

t.test('an authority with 20 days left serves, with a warning', async t => {
  const end = new AbortController()
  const { seams, warnings } = await openCertificates(20 * DAY, end.signal)
  const loaded = await loadCertificates(['10.0.0.1'], seams, end.signal)
  t.ok(loaded?.server.cert)
  t.match(warnings(), [{ message: /ends soon/, fields: { endsAt: /^\d{4}-/ } }])
  t.equal(warnings().length, 1)
})

t.test('the warning comes as well when the end nears while the bridge runs', async t => {
  const end = new AbortController()
  const { clock, seams, warnings } = await openCertificates(31 * DAY, end.signal)
  const loaded = await loadCertificates(['10.0.0.1'], seams, end.signal)
  t.strictSame(warnings(), [])
  const addresses = ['10.0.0.1']
  const keeping = keepServerPair(loaded!, { addresses, renew: () => undefined }, seams, end.signal)
  await clock.advance(2 * DAY)
  t.match(warnings()[0], { message: /ends soon/ })
  end.abort()
  await keeping
})

t.test('an authority that is over is an error that says so', async t => {
  const { signal } = new AbortController()
  const { seams } = await openCertificates(-DAY, signal)
  await t.rejects(loadCertificates(['10.0.0.1'], seams, signal), {
    message: /certificate of the authority must not be over/,
  })
})

t.test(
  'with an authority that was replaced no token and no server certificate is made',
  async t => {
    const end = new AbortController()
    const { clock, log, seams } = await openCertificates(400 * DAY, end.signal)
    const loaded = await loadCertificates(['10.0.0.1'], seams, end.signal)
    const { certificate, key } = await makeAuthority(clock.wall())
    const encoded = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
    const type = { group: '', version: 'v1', resource: 'secrets', parse: (raw: unknown) => raw }
    const at = (name: string) => ({ namespace: 'kubeedge', name })
    const data = { cadata: encoded(certificate), cakeydata: encoded(key) }
    const body = { data, metadata: { name: 'casecret', resourceVersion: '1' } }
    await seams.client.update(type, at('casecret'), { body }, end.signal)
    const before = await seams.client.get(type, at('cloudcoresecret'), end.signal)
    const renewed: unknown[] = []
    const renew = (pair: unknown): void => void renewed.push(pair)
    const working = [
      keepToken(loaded!, seams, end.signal),
      // As after a change of the addresses.
      keepServerPair(loaded!, { addresses: ['10.0.0.2'], renew }, seams, end.signal),
    ]
    await clock.advance(2 * DAY)
    await t.rejects(seams.client.get(type, at('tokensecret'), end.signal), KubeStatusError)
    t.strictSame(await seams.client.get(type, at('cloudcoresecret'), end.signal), before)
    t.strictSame(renewed, [])
    t.match(log.lines, [{ level: 'error', message: /started anew/ }])
    end.abort()
    await Promise.all(working)
  },
)

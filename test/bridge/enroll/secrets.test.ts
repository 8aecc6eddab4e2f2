// SPDX-License-Identifier: Apache-2.0
import { X509Certificate } from 'node:crypto'
import t from 'tap'
import {
  loadAuthority,
  loadServerPair,
  publishToken,
  type SecretClient,
} from '../../../bridge/enroll/secrets.js'
import { makeAuthority, makeSigner } from '../../../bridge/enroll/signer.js'
import { KubeStatusError } from '../../../core/errors.js'

const { signal } = new AbortController()
const now = Date.now()
const DAY = 86_400_000

interface Body {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string }
  readonly data: Record<string, string>
}

/** Secrets in memory, with the conflicts of the API. */
const makeClient = () => {
  const stored = new Map<string, Body>()
  let version = 0
  let writes = 0
  const refuse = (status: number, reason: string): never => {
    throw new KubeStatusError('scripted', { status, reason, message: '' })
  }
  const keep = (body: Body): Body => {
    writes++
    const resourceVersion = `${++version}`
    const kept = { ...body, metadata: { ...body.metadata, resourceVersion } }
    stored.set(body.metadata.name, kept)
    return kept
  }
  const turn = () => new Promise(resolve => setImmediate(resolve))
  const client: SecretClient = {
    get: async (type, { name }) => {
      await turn()
      return type.parse(stored.get(name) ?? refuse(404, 'NotFound'))
    },
    create: async (type, _where, { body }) => {
      await turn()
      const asked = body as unknown as Body
      if (stored.has(asked.metadata.name)) refuse(409, 'AlreadyExists')
      return type.parse(keep(asked))
    },
    update: async (type, { name }, { body }) => {
      await turn()
      const asked = body as unknown as Body
      const present = stored.get(name)?.metadata.resourceVersion
      if (present !== asked.metadata.resourceVersion) refuse(409, 'Conflict')
      return type.parse(keep(asked))
    },
  }
  return { client, stored, writes: () => writes }
}

t.test('two bridges that start at once have one authority', async t => {
  const { client, writes } = makeClient()
  let made = 0
  const load = () => loadAuthority(client, () => (made++, makeAuthority(now)), signal)
  const all = await Promise.all([load(), load(), load()])
  t.equal(made, 3, 'each would have made one')
  t.equal(writes(), 1, 'the first one counts')
  for (const { certificate, key } of all) {
    t.strictSame(certificate, all[0].certificate)
    t.strictSame(key, all[0].key)
  }
  await load()
  t.equal(made, 3)
  await t.resolves(makeSigner(all[0]))
})

t.test('an authority that lacks a part is an error, and is not replaced', async t => {
  const { client, stored, writes } = makeClient()
  stored.set('casecret', {
    metadata: { name: 'casecret', resourceVersion: '1' },
    data: { cadata: 'AA==' },
  })
  await t.rejects(
    loadAuthority(client, () => makeAuthority(now), signal),
    { message: 'Secret kubeedge/casecret must have cadata and cakeydata, got ["cadata"]' },
  )
  t.equal(writes(), 0)
})

t.test('the server’s certificate is kept while it serves, else made anew', async t => {
  const { client, stored } = makeClient()
  const authority = await makeAuthority(now)
  const signer = await makeSigner(authority)
  const load = (addresses: readonly string[], at = now, by = signer) =>
    loadServerPair(client, by, { addresses, now: at }, signal)
  const first = await load(['10.0.0.1', 'bridge.example'])
  t.match(new X509Certificate(first.cert).subjectAltName, /10\.0\.0\.1.*bridge|bridge.*10\.0\.0\.1/)
  t.equal((await load(['10.0.0.1'])).cert, first.cert)
  const second = await load(['10.0.0.2'])
  t.not(second.cert, first.cert, 'another address')
  const later = await load(['10.0.0.2'], now + 340 * DAY)
  t.not(later.cert, second.cert, 'it is over in less than 30 days')
  const other = await makeSigner(await makeAuthority(now))
  const third = await load(['10.0.0.2'], now, other)
  t.ok(new X509Certificate(third.cert).verify(new X509Certificate(other.ca).publicKey))
  const secret = stored.get('cloudcoresecret')!
  stored.set('cloudcoresecret', { ...secret, data: { ...secret.data, cloudcorekeydata: 'AAAA' } })
  t.not((await load(['10.0.0.2'], now, other)).cert, third.cert, 'its key is none')
  stored.set('cloudcoresecret', { ...secret, data: { more: 'AAAA' } })
  await load(['10.0.0.2'], now, other)
  t.match(stored.get('cloudcoresecret')!.data, { more: 'AAAA' }, 'what else is in it stays')
})

t.test('the server’s certificate may end with its authority', async t => {
  const { client, writes } = makeClient()
  const signer = await makeSigner(await makeAuthority(now - (36_500 - 20) * DAY))
  const load = (at: number) =>
    loadServerPair(client, signer, { addresses: ['10.0.0.1'], now: at }, signal)
  const { cert } = await load(now)
  t.equal(new X509Certificate(cert).validTo, new X509Certificate(signer.ca).validTo)
  t.equal((await load(now + 19 * DAY)).cert, cert)
  t.equal(writes(), 1, 'another one would last no longer')
  await t.rejects(load(now + 21 * DAY), {
    message: /certificate of the authority must not be over, got/,
  })
  t.equal(writes(), 1)
})

t.test('a token is published once, over an old one', async t => {
  const { client, stored, writes } = makeClient()
  await publishToken(client, 'one', signal)
  await publishToken(client, 'one', signal)
  t.equal(writes(), 1)
  await Promise.all([publishToken(client, 'two', signal), publishToken(client, 'two', signal)])
  t.equal(Buffer.from(stored.get('tokensecret')!.data['tokendata']!, 'base64').toString(), 'two')
})

t.test(
  'without the right to Secrets the error is passed on; after too many conflicts it gives up',
  async t => {
    const { client } = makeClient()
    const forbidden = new KubeStatusError('scripted', {
      status: 403,
      reason: 'Forbidden',
      message: '',
    })
    const no = { ...client, get: () => Promise.reject(forbidden) }
    await t.rejects(publishToken(no, 'one', signal), { message: /Forbidden/ })
    const readOnly = { ...client, create: () => Promise.reject(forbidden) }
    await t.rejects(publishToken(readOnly, 'one', signal), { message: /Forbidden/ })
    const conflict = new KubeStatusError('scripted', {
      status: 409,
      reason: 'Conflict',
      message: '',
    })
    await t.rejects(
      publishToken({ ...client, create: () => Promise.reject(conflict) }, 'one', signal),
      { message: /tokensecret must be left alone by others/ },
    )
  },
)

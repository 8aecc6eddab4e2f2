// SPDX-License-Identifier: Apache-2.0
// Replicas that share certificates, and apiservers that hear late whom to trust; time is virtual, TLS is real.
import t, { type Test } from 'tap'
import { checkServerIdentity, connect } from 'node:tls'
import { CertificateKeeper } from '../../../admission/run/certificate-keeper.js'
import type { CertificateSecret } from '../../../admission/run/certificate-secret.js'
import { makePair, type ServingPair } from '../../../admission/run/certificates.js'
import type { Served } from '../../../admission/run/certificate-source.js'
import { KubeStatusError } from '../../../core/errors.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import type { Listener } from '../../../net/listen.js'
import {
  keyOn,
  NAME,
  ownMade,
  refusedPairs,
  renewed,
  signedFor,
} from '../../../testkit/admission/own-pairs.js'
import {
  openWebhookBed,
  REGISTRATION,
  type WebhookBed,
} from '../../../testkit/admission/webhook-bed.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { openListener } from '../../../testkit/http/open-listener.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

t.setTimeout(300_000)
const never = new AbortController().signal
const DAY = 86_400_000
const HOUR = 3_600_000

const putByHand = async (bed: WebhookBed, { ca, cert, key }: ServingPair): Promise<void> => {
  await bed.spoilSecret('ca.crt', ca)
  await bed.spoilSecret('tls.crt', cert)
  await bed.spoilSecret('tls.key', key)
}

class Replica {
  readonly keeper: CertificateKeeper
  readonly log = recordingLog()
  readonly secret: CertificateSecret
  readonly seen: { -readonly [K in 'get' | 'patch' | 'serverTime']: ResourceClient[K] }
  served: Served | undefined
  listener: Listener | undefined

  constructor(bed: WebhookBed, clock: FakeClock, t: Test) {
    const { client, secret } = bed.replica()
    this.secret = secret
    this.seen = {
      get: client.get.bind(client),
      patch: client.patch.bind(client),
      serverTime: () => clock.wall(),
    }
    this.keeper = new CertificateKeeper(
      {
        registration: REGISTRATION,
        names: [NAME],
        onServe: served => {
          this.served = served
          this.listener?.renew(served)
        },
      },
      { client: this.seen, secret, clock, random: seededRandom(1), log: this.log },
    )
    t.teardown(async () => {
      await this.listener?.close()
      await client.close()
    })
  }

  async open(): Promise<void> {
    this.listener = await openListener({
      handle: (_request, response) => void response.end('done'),
      tls: this.served,
    })
  }

  /** As an apiserver that trusts this bundle connects. */
  reach(ca: string, clock: FakeClock): Promise<string> {
    return new Promise(resolve => {
      const socket = connect({
        ...{ port: this.listener!.port, host: '127.0.0.1', ca, servername: NAME },
        rejectUnauthorized: false,
      })
      socket.on('secureConnect', () => {
        const peer = socket.getPeerCertificate()
        const { valid_from: since, valid_to: end } = peer
        const isValid = Date.parse(since) <= clock.wall() && clock.wall() < Date.parse(end)
        // OpenSSL looks at the machine's clock; a chain that leads nowhere it tells before that.
        const { authorizationError } = socket as { authorizationError?: unknown }
        const error = typeof authorizationError === 'string' ? authorizationError : 'none'
        const isTrusted = /^(none|CERT_NOT_YET_VALID|CERT_HAS_EXPIRED)$/.test(error)
        const isNamed = checkServerIdentity(NAME, peer) === undefined
        const isRight = isValid && isTrusted && isNamed
        const outcome = isRight ? 'ok' : `${error}, valid from ${since} to ${end}`
        // With TLS 1.3 a server that wants a client's certificate refuses after this.
        socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
        socket.once('data', () => {
          socket.destroy()
          resolve(outcome)
        })
      })
      socket.on('error', (error: Error) => resolve(error.message))
    })
  }
}

/** Two replicas on one registration. */
const scene = async (t: Test) => {
  const bed = await openWebhookBed()
  t.teardown(() => bed.stop())
  const clock = new FakeClock(0, Date.now())
  const replicas = [new Replica(bed, clock, t), new Replica(bed, clock, t)] as const
  const turn = () => Promise.all(replicas.map(({ keeper }) => keeper.turn(never)))
  return { bed, clock, replicas, turn }
}

t.test(
  'two replicas that begin at once have one certificate, which the registration trusts',
  async t => {
    const { bed, replicas, turn } = await scene(t)
    await bed.register()
    await turn()
    const [first, second] = replicas
    t.ok(first.served)
    t.strictSame(second.served, first.served)
    const secret = await bed.secret()
    t.strictSame(Object.keys(secret).sort(), ['ca.crt', 'tls.crt', 'tls.key'])
    t.equal((await bed.bundle())?.trim(), secret['ca.crt']!.trim())
    t.match(first.keeper.status, { isTrusted: true, renewals: 0, trouble: null })
  },
)

t.test(
  'without a registration there is a certificate all the same, and it is registered later',
  async t => {
    const { bed, turn, replicas } = await scene(t)
    await turn()
    t.ok(replicas[0].served)
    await bed.register()
    t.equal(await bed.bundle(), '')
    await turn()
    t.equal((await bed.bundle())?.trim(), (await bed.secret())['ca.crt']!.trim())
  },
)

t.test(
  'three renewals: apiservers that hear 45 s late of a bundle never meet a stranger',
  async t => {
    const { bed, clock, replicas, turn } = await scene(t)
    await bed.register()
    await turn()
    for (const replica of replicas) await replica.open()
    const history: { at: number; bundle: string }[] = []
    /** What an apiserver knows that hears everything so late. */
    const known = (): string =>
      history.findLast(({ at }) => at <= clock.wall() - 45_000)?.bundle ?? history[0]!.bundle
    let checks = 0
    const look = async (): Promise<void> => {
      await clock.advance(5_000)
      // They do not take their turns together.
      const [first, second] = replicas
      if (checks % 12 === 0) await first.keeper.turn(never)
      if (checks % 12 === 6) await second.keeper.turn(never)
      history.push({ at: clock.wall(), bundle: (await bed.bundle()) ?? '' })
      for (const replica of replicas) {
        t.equal(await replica.reach(known(), clock), 'ok', new Date(clock.wall()).toISOString())
        checks++
      }
    }
    for (let renewal = 1; renewal <= 3; renewal++) {
      const before = replicas[0].served
      await clock.advance(59 * DAY)
      for (let i = 0; i < 3; i++) await look()
      t.equal(replicas[0].served, before, 'two thirds are not over')
      await clock.advance(DAY + HOUR)
      for (let i = 0; i < 48; i++) await look()
      t.not(replicas[0].served?.cert, before?.cert, `renewal ${renewal}`)
      t.strictSame(replicas[1].served, replicas[0].served)
      const bundle = (await bed.bundle()) ?? ''
      t.equal(
        bundle.match(/BEGIN CERTIFICATE/g)?.length,
        2,
        'the old authority and the present one',
      )
      t.equal(replicas[0].keeper.status.renewals, renewal)
    }
    t.ok(checks > 200)
  },
)

t.test(
  'a Secret or a bundle that is lost or spoilt comes back, and nobody serves anything else meanwhile',
  async t => {
    const { bed, replicas, turn } = await scene(t)
    await bed.register()
    await turn()
    const [first, second] = replicas
    const { served } = first
    await bed.deleteSecret()
    await turn()
    t.match(await bed.secret(), { 'tls.crt': served!.cert })
    await bed.spoilSecret('tls.key', 'no key')
    await turn()
    t.match(await bed.secret(), { 'tls.key': served!.key })
    const own = (await bed.bundle())!
    await bed.setBundle('')
    await turn()
    t.equal(await bed.bundle(), own)
    await bed.spoilSecret('old-ca.crt', 'no certificate')
    await turn()
    t.equal(await bed.bundle(), own, 'what is none is not handed on')
    const stranger = await makePair([NAME], Date.now())
    await putByHand(bed, stranger)
    await turn()
    t.strictSame([first.served, second.served], [served, served], 'its authority is not known yet')
    t.equal((await bed.bundle())?.match(/BEGIN CERTIFICATE/g)?.length, 2)
  },
)

t.test('a replica that finds only expired certificates creates a new one at once', async t => {
  const { bed, clock, replicas, turn } = await scene(t)
  await bed.register()
  await turn()
  const { served } = replicas[0]
  await clock.advance(91 * DAY)
  await turn()
  t.not(replicas[0].served?.cert, served?.cert)
  t.strictSame(replicas[1].served, replicas[0].served)
})

t.test('a broken authority in the Secret is left out, and the others are trusted', async t => {
  const { bed, replicas, turn } = await scene(t)
  await bed.register()
  await turn()
  const { client, secret } = bed.replica()
  t.teardown(() => client.close())
  const before = (await secret.read(never))!
  const { ca } = await makePair([NAME], Date.now())
  const broken = '-----BEGIN CERTIFICATE-----\nQUJDREVG\n-----END CERTIFICATE-----\n'
  await secret.write({ ...before, oldCa: `${ca}${broken}` }, before, never)
  await turn()
  const bundle = (await bed.bundle()) ?? ''
  t.strictSame(bundle.match(/-----BEGIN[^-]*-----[^-]*-----END[^-]*-----/g), [
    ca.trim(),
    before.current.ca.trim(),
  ])
  t.match(replicas[0].keeper.status, { isTrusted: true, trouble: null })
})

t.test('a new replica replaces what nobody could trust, says why, and is trusted', async t => {
  const rows: [what: string, pair: () => Promise<Partial<ServingPair>>, reason: RegExp][] = [
    ['self-signed without the CA flag', () => ownMade(false, -1), /none of an authority/],
    [
      'of an authority that is over',
      async () => ownMade(false, -1, await ownMade(true, -61)),
      /no longer valid/,
    ],
    [
      'of an authority to come',
      async () => ownMade(false, -1, await ownMade(true, 1)),
      /not valid yet/,
    ],
    ['a broken key', async () => ({ key: 'no key' }), /cannot be read/],
  ]
  for (const [what, pair, reason] of await refusedPairs())
    rows.push([what, () => Promise.resolve(pair), reason])
  for (const [what, makeOdd, reason] of rows) {
    const { bed, clock, replicas } = await scene(t)
    const [running, starting] = replicas
    await bed.register()
    await running.keeper.turn(never)
    const { ca } = (await running.secret.read(never))!.current
    await putByHand(bed, { ca, ...running.served!, ...(await makeOdd()) })
    // An authority's name has the time in it.
    await clock.advance(1_000)
    await starting.keeper.turn(never)
    await starting.open()
    t.equal(await starting.reach((await bed.bundle()) ?? '', clock), 'ok', what)
    t.equal((await bed.secret())['tls.crt'], starting.served?.cert, what)
    t.match(starting.keeper.status, { isTrusted: true, trouble: null }, what)
    const said = starting.log.lines.filter(({ level }) => level === 'warn')
    t.match(said, [{ message: /Secret .* cannot be used; replaced/, fields: { error: reason } }])
    t.equal(said.length, 1, what)
  }
})

t.test('what no apiserver accepts replaces no certificate that works, and goes', async t => {
  for (const [what, odd, reason] of await refusedPairs()) {
    const { bed, clock, replicas } = await scene(t)
    const [running, other] = replicas
    await bed.register()
    await running.keeper.turn(never)
    await running.open()
    const { served } = running
    await putByHand(bed, odd)
    for (let at = 0; at < 4; at++) {
      await running.keeper.turn(never)
      await other.keeper.turn(never)
      t.equal(await running.reach((await bed.bundle()) ?? '', clock), 'ok', what)
      await clock.advance(60_000)
    }
    for (const replica of replicas) t.strictSame(replica.served, served, what)
    t.match(await bed.secret(), { 'tls.crt': served!.cert, 'tls.key': served!.key }, what)
    const said = replicas.flatMap(({ log }) => log.lines).filter(({ level }) => level === 'warn')
    t.match(said, [{ fields: { error: reason } }], what)
    t.equal(said.length, 1, what)
  }
})

t.test('no replica takes the authority of another one out of the registration', async t => {
  const empty = { ca: '', cert: '', key: '' }
  const rows: [what: string, put: (at: number) => Promise<ServingPair>, warnings: number][] = [
    ['emptied', async () => empty, 0],
    ['a younger pair', at => makePair([NAME], at), 0],
    ['a younger authority alone', async at => ({ ...(await makePair([NAME], at)), key: '' }), 1],
  ]
  for (const [what, put, warnings] of rows) {
    const { bed, clock, replicas, turn } = await scene(t)
    const [running, starting] = replicas
    await bed.register()
    await running.keeper.turn(never)
    await running.open()
    const before = running.served
    await clock.advance(HOUR)
    await putByHand(bed, await put(clock.wall()))
    await clock.advance(1_000)
    await starting.keeper.turn(never)
    await starting.open()
    const bundles = new Set<string>()
    for (let at = 0; at < 8; at++) {
      const bundle = (await bed.bundle()) ?? ''
      bundles.add(bundle)
      for (const { keeper } of at === 0 ? [starting] : replicas) t.ok(keeper.status.isTrusted)
      for (const replica of replicas)
        t.equal(await replica.reach(bundle, clock), 'ok', `${what}, after ${at * 15} s`)
      await clock.advance(15_000)
      await replicas[at % 2]!.keeper.turn(never)
    }
    t.equal(bundles.size, 1, 'they write nothing against each other')
    t.not(running.served, before)
    t.strictSame(running.served, starting.served)
    const said = replicas.flatMap(({ log }) => log.lines).filter(({ level }) => level === 'warn')
    t.equal(said.length, warnings, `${what}: an empty Secret is usual`)
    await clock.advance(60 * DAY + HOUR)
    for (let at = 0; at < 3; at++) {
      await turn()
      await clock.advance(60_000)
    }
    const authorities = (await bed.bundle())?.match(/BEGIN CERTIFICATE/g)
    t.equal(authorities?.length, 2, 'after the next renewal the previous one and the present one')
  }
})

t.test('trusted is what the registration was seen to hold', async t => {
  const { bed, replicas } = await scene(t)
  await bed.register()
  const [{ keeper, seen }] = replicas
  // As where another plugin undoes the write.
  const { patch } = seen
  seen.patch = (type, of, _write, signal) => seen.get(type, of, signal)
  await t.rejects(keeper.turn(never), { message: 'the registration could not be written' })
  t.match(keeper.status, { isTrusted: false })
  seen.patch = patch
  await keeper.turn(never)
  t.match(keeper.status, { isTrusted: true })
})

t.test('a bundle that nobody may write is told as it is, not as it was', async t => {
  const refused = (status: number) =>
    new KubeStatusError('PATCH', { status, reason: 'No', message: `refused with ${status}` })
  const rows: [what: string, cause: Error][] = [
    ['RBAC', refused(403)],
    ['another webhook that fails', refused(500)],
    ['a policy', refused(422)],
    ['no answer', new Error('out of reach')],
  ]
  const message = 'the registration could not be written'
  for (const [what, cause] of rows) {
    const { bed, clock, replicas, turn } = await scene(t)
    await bed.register()
    await turn()
    const [{ keeper, seen, secret, served }] = replicas
    const own = (await bed.bundle())!
    const { patch } = seen
    seen.patch = () => Promise.reject(cause)
    const stored = (await secret.read(never))!
    const next = await makePair([NAME], clock.wall() + 1)
    const written = (await secret.write({ ...stored, next }, stored, never))!
    await t.rejects(keeper.turn(never), { message, cause })
    t.match(keeper.status, { isTrusted: true }, `${what}: the one in use is trusted all the same`)
    await secret.write({ ...written, next: undefined }, written, never)
    await bed.setBundle('')
    await t.rejects(keeper.turn(never), { message, cause })
    t.match(keeper.status, { isTrusted: false }, `${what}: nobody is trusted`)
    await clock.advance(HOUR)
    await bed.setBundle(own)
    await keeper.turn(never)
    t.match(keeper.status, { isTrusted: true }, `${what}: somebody else put it back`)
    await bed.setBundle('')
    seen.get = () => Promise.reject(new Error('out of reach'))
    await t.rejects(keeper.turn(never), { message: 'out of reach' })
    t.match(keeper.status, { isTrusted: true }, `${what}: what cannot be read is as it was`)
    seen.get = replicas[1].seen.get
    seen.patch = patch
    await keeper.turn(never)
    t.equal(await bed.bundle(), own, what)
    t.match(keeper.status, { isTrusted: true, renewals: 0 }, what)
    t.equal(replicas[0].served, served)
  }
})

t.test('an emptied bundle is filled while the Secret cannot be written', async t => {
  const { bed, clock, replicas, turn } = await scene(t)
  await bed.register()
  await turn()
  const own = await bed.bundle()
  const [{ keeper, secret }] = replicas
  await clock.advance(61 * DAY)
  secret.write = () => Promise.reject(new Error('no write'))
  await bed.setBundle('')
  await t.rejects(keeper.turn(never), { message: 'no write' })
  t.equal(await bed.bundle(), own)
  secret.read = () => Promise.reject(new Error('no read'))
  await bed.setBundle('')
  await t.rejects(keeper.turn(never), { cause: { message: 'no read' } })
  t.match(keeper.status, { isTrusted: false }, 'nor read: at least it is told')
})

t.test('of two authorities the one that signed is waited for', async t => {
  const { bed, clock, replicas } = await scene(t)
  await bed.register()
  const [replica] = replicas
  const { keeper, seen, secret } = replica
  await keeper.turn(never)
  await replica.open()
  const before = (await secret.read(never))!.current
  await clock.advance(HOUR)
  const { patch } = seen
  seen.patch = () => Promise.reject(new Error('out of reach'))
  const young = await makePair([NAME], clock.wall())
  await putByHand(bed, { ...young, ca: before.ca + young.ca })
  const look = async (what: string): Promise<void> => {
    await keeper.turn(never).catch(() => undefined)
    t.equal(await replica.reach((await bed.bundle()) ?? '', clock), 'ok', what)
    t.match(keeper.status, { isTrusted: true }, what)
  }
  for (let at = 0; at < 3; at++) {
    await look('while the registration cannot be written')
    await clock.advance(HOUR)
  }
  seen.patch = patch
  await look('it is written')
  await clock.advance(59_000)
  await look('apiservers may not know it yet')
  t.equal(replica.served?.cert, before.cert)
  await clock.advance(1_000)
  await look('they do')
  t.equal(replica.served?.cert, young.cert)
  await bed.setBundle(before.ca)
  seen.patch = () => Promise.reject(new Error('out of reach'))
  await t.rejects(keeper.turn(never))
  t.match(keeper.status, { isTrusted: false }, 'the other authority does not count')
})

t.test('where an authority was renewed with its key, the older one is trust enough', async t => {
  const { bed, clock, replicas } = await scene(t)
  await bed.register()
  const [{ keeper, log }] = replicas
  await keeper.turn(never)
  const ca = await ownMade(true, -3)
  await putByHand(bed, await signedFor(keyOn('prime256v1'), ca))
  await keeper.turn(never)
  await clock.advance(60_000)
  await keeper.turn(never)
  const young = await signedFor(keyOn('prime256v1'), { ...ca, cert: await renewed(ca, -2) })
  await putByHand(bed, { ...young, ca: young.ca + ca.cert })
  await keeper.turn(never)
  t.equal(replicas[0].served?.cert, young.cert, 'every apiserver knows one that signed it')
  t.match(keeper.status, { isTrusted: true, trouble: null })
  t.notOk(
    log.lines.some(({ level }) => level === 'warn'),
    'nothing was replaced',
  )
})

t.test('a next certificate that nobody could trust is replaced when it is due', async t => {
  const { bed, clock, replicas, turn } = await scene(t)
  await bed.register()
  await turn()
  const odd = await ownMade(false, -1)
  await bed.spoilSecret('next-ca.crt', odd.ca)
  await bed.spoilSecret('next-tls.crt', odd.cert)
  await bed.spoilSecret('next-tls.key', odd.key)
  await clock.advance(60 * DAY)
  await turn()
  t.not((await bed.secret())['next-tls.crt'], odd.cert)
  const said = replicas.flatMap(({ log }) => log.lines).filter(({ level }) => level === 'warn')
  t.match(said, [{ fields: { error: /none of an authority/ } }])
})

t.test('trouble is logged once, and its end once', async t => {
  const bed = await openWebhookBed()
  t.teardown(() => bed.stop())
  const { client, secret } = bed.replica()
  t.teardown(() => client.close())
  const clock = new FakeClock(0, Date.now())
  const log = recordingLog()
  const stop = new AbortController()
  let refuses = true
  const get: typeof client.get = (...all) =>
    refuses ? Promise.reject(new Error('out of reach')) : client.get(...all)
  const keeper = new CertificateKeeper(
    { registration: REGISTRATION, names: [NAME], onServe: () => undefined },
    {
      client: { get, patch: client.patch.bind(client), serverTime: () => undefined },
      ...{ secret, clock, log, random: seededRandom(1) },
    },
  )
  const running = keeper.run(stop.signal)
  const pass = async (isDone: () => boolean): Promise<void> => {
    while (!isDone()) {
      if (clock.waiting > 0) await clock.advance(10_000)
      await new Promise(resolve => setImmediate(resolve))
    }
  }
  await pass(() => keeper.status.trouble !== null)
  t.equal(keeper.status.trouble, 'out of reach')
  await clock.advance(10_000)
  refuses = false
  await pass(() => keeper.status.trouble === null)
  t.match(keeper.status, { isTrusted: true, trouble: null })
  t.equal(log.lines.filter(({ level }) => level === 'warn').length, 1)
  stop.abort()
  await running
})

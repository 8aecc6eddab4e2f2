// SPDX-License-Identifier: Apache-2.0
// What `explain` says of the keys of nodes that sign, of those that do not, and of those whose keys changed.
import t from 'tap'
import { writeIdentity } from '../../../agent/identity/annotation.js'
import { generateNodeKeys } from '../../../agent/identity/node-keys.js'
import { explainText } from '../../../agent/text/explain-text.js'
import { equivocationText, identityText } from '../../../agent/text/identity-words.js'
import type { NodeDetail, NodeIdentity } from '../../../agent/http/status-view.js'
import { plain } from '../../../core/text.js'
import { parseNodeName } from '../../../core/ids.js'
import { scenario } from '../../../testkit/zone/scenario.js'
import type { World } from '../../../testkit/zone/world.js'

const ANNOTATION = 'edge-health/identity'
const NO_CHANGE = { silentSeconds: null, changeAfterSeconds: null, equivocations: 0 }

/** What the first agent says of a member, and the line of its explanation that is about keys. */
const seen = (world: World, name: string): { node: NodeDetail; line: string | undefined } => {
  const { views } = world.machine(0).agent!
  const node = views.node(name)!
  const text = explainText({ ...views.status(), node }, plain)
  return { node, line: /^identity +(.*)$/m.exec(text)?.[1] }
}

t.test('who signs, with which keys, and how long ago', async t => {
  const zone = { what: 'prefer', size: 3, seed: 3, flags: ['--identity=prefer'] }
  await scenario(t, zone, async world => {
    t.equal(world.machine(0).agent, undefined)
    await world.settled()
    const { node, line } = seen(world, 'n1')
    t.match(node.identity, { state: 'signed', counts: true, ...NO_CHANGE })
    const { signedSeconds } = node.identity!
    t.ok(signedSeconds! >= 0 && signedSeconds! < 30, `signed ${signedSeconds} s ago`)
    const start = node.keyFingerprint!.slice(0, 4)
    t.match(line, new RegExp(`^signed by identity ${start}…, made [0-9.]+ s ago$`))
    const own = seen(world, 'n0')
    t.strictSame(own.node.identity, {
      state: 'signed',
      counts: true,
      signedSeconds: 0,
      ...NO_CHANGE,
    })
    world.crash(1)
    await world.run(100_000)
    const dead = seen(world, 'n1')
    t.match(dead.node.identity, { state: 'signed', counts: false })
    t.match(dead.line, /^signed by identity .*…, made \d+ s ago, too old to count$/)
    t.equal(
      dead.node.voters.find(({ name }) => name === 'n1'),
      undefined,
    )
    const { voters } = seen(world, 'n2').node
    t.match(
      voters.find(({ name }) => name === 'n1'),
      { counts: false, why: 'too old' },
      'who signed is too old, not unproved',
    )
  })
})

t.test('who has no identity counts with prefer, and does not with require', async t => {
  const rows = [
    ['prefer', true, "no identity, believed by the zone's key", undefined],
    ['require', false, 'not counted: no identity', 'no identity'],
  ] as const
  for (const [mode, counts, line, why] of rows) {
    const zone = { what: mode, size: 5, seed: 4, flags: [`--identity=${mode}`] }
    await scenario(t, zone, async world => {
      world.machine(4).flags = ['--identity=off']
      await world.settled()
      const found = seen(world, 'n4')
      t.match(found.node.identity, { state: 'unsigned', counts, signedSeconds: null }, mode)
      t.equal(found.line, line)
      const voter = seen(world, 'n2').node.voters.find(({ name }) => name === 'n4')
      t.match(voter, { counts, why: why ?? null }, `${mode}: as a voter`)
      const { views } = world.machine(4).agent!
      t.equal(views.node('n1')!.identity, null, 'who signs nothing says nothing of it')
      world.crash(4)
      await world.run(100_000)
      const dead = seen(world, 'n2').node.voters.find(({ name }) => name === 'n4')
      t.equal(dead?.why, why ?? 'too old', `${mode}: and when it is dead`)
    })
  }
})

t.test('a node that lost its keys: for how long the old ones must be silent', async t => {
  const zone = { what: 'lost disk', size: 5, flags: ['--identity=require'] }
  await scenario(t, zone, async world => {
    await world.settled()
    world.killAgent(4)
    world.machine(4).disk.clear()
    world.boot(4)
    await world.run(80_000)
    const { node, line } = seen(world, 'n4')
    t.match(node.identity, { state: 'changed', counts: false, changeAfterSeconds: 120 })
    const seconds = node.identity!.silentSeconds!
    t.ok(seconds > 60 && seconds < 120, `silent for ${seconds} s`)
    const change = `identity changed without its old key, silent for ${Math.round(seconds)} of 120 s`
    t.equal(line, `not counted: ${change}`)
    t.equal(seen(world, 'n2').node.voters.find(({ name }) => name === 'n4')?.why, change)
    await world.run(100_000)
    t.match(seen(world, 'n4').node.identity, { state: 'signed', counts: true, ...NO_CHANGE })
  })
})

t.test('foreign keys on the Node of a live node', async t => {
  for (const [mode, want] of [
    ['require', /^identity changed without its old key, silent for \d+ of 120 s$/],
    ['prefer', /^identity changed without its old key, but the agent there has that: it stays$/],
  ] as const) {
    const zone = { what: mode, size: 3, seed: 6, flags: [`--identity=${mode}`] }
    await scenario(t, zone, async world => {
      const heard: Uint8Array[] = []
      world.network.onWire = (body, _, kind, { from }) => {
        if (kind === 'request' && from === world.machine(2).address) heard.push(body.slice())
      }
      await world.settled()
      const subject = { clusterId: '', node: parseNodeName('n2'), uid: 'uid-n2' }
      const { metadata } = world.cluster.raw('node', 'n2')
      const annotations = { [ANNOTATION]: writeIdentity(subject, 9, generateNodeKeys()) }
      world.cluster.edit('node', 'n2', { metadata: { ...metadata, annotations } })
      // Something in its name that it did not sign: its Node is read again.
      const altered = Buffer.from(heard.at(-1)!)
      altered[altered.length - 1]! ^= 1
      const [to, from] = [world.machine(0).address, world.machine(2).address]
      world.network.inject(from, to, 'gossip', altered)
      const isSeen = (): boolean => want.test(seen(world, 'n2').line ?? '')
      const ms = await world.until(isSeen, 60_000)
      t.ok(ms !== undefined, `${mode}: ${seen(world, 'n2').line}`)
      t.match(seen(world, 'n2').node.identity, { counts: true }, 'it is believed all the while')
    })
  }
})

t.test('in words', async t => {
  const said: NodeIdentity = { state: 'signed', counts: true, signedSeconds: 3.21, ...NO_CHANGE }
  const known = { fingerprint: '3f2a0123456789ab', isRequired: true }
  const rows: readonly (readonly [change: Partial<NodeIdentity>, text: string])[] = [
    [{}, 'signed by identity 3f2a…, made 3.2 s ago'],
    [{ signedSeconds: 61.4 }, 'signed by identity 3f2a…, made 61 s ago'],
    [{ signedSeconds: null }, 'nothing heard that identity 3f2a… signed'],
    [{ signedSeconds: null, counts: false }, 'not counted: nothing heard that identity 3f2a… signed'],
    [{ state: 'unsigned' }, 'no identity'],
    [{ state: 'asked' }, 'identity changed without its old key: the agent there is asked whether it has that'],
    [{ state: 'refused', counts: false }, 'not counted: its Node shows an identity that its keys did not sign'],
    [{ state: 'of-a-later-version' as NodeIdentity['state'] }, 'of-a-later-version'],
    [{ state: 'changed' }, 'identity changed without its old key, silent for 0 of 0 s'],
  ] // prettier-ignore
  for (const [change, text] of rows) t.equal(identityText({ ...said, ...change }, known), text)
  t.equal(identityText(said, { ...known, fingerprint: null }), 'signed by its keys, made 3.2 s ago')
  t.equal(
    equivocationText(2),
    'signed different statements for one time (2): its keys are on two machines, or it lies',
  )
})

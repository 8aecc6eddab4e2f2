// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { statusText } from '../../../../agent/text/status-text.js'
import { plain } from '../../../../core/text.js'
import { World } from '../../../../testkit/zone/world.js'

const WEAK = 'shortkey'
const KEYS = ['a key of the test world', 'another key of the world', WEAK]

/** As text, and as a careless program would encode it. */
const formsOf = (key: string): Buffer[] => [
  Buffer.from(key),
  Buffer.from(Buffer.from(key).toString('base64').replace(/=+$/, '')),
  Buffer.from(Buffer.from(key).toString('hex')),
]

t.test('a key is in no message, log line, status or write', async t => {
  const world = new World(3)
  t.teardown(() => world.stop())
  const said: [where: string, what: Uint8Array][] = []
  const say = (where: string, what: unknown) =>
    said.push([where, Buffer.from(JSON.stringify([what]))])
  world.network.onWire = (body, route) => said.push([route, body.slice()])
  world.bootAll()
  await world.settled()
  const [old, next] = KEYS
  // A rotation, a key that is refused, and a node that dies meanwhile.
  const steps = [{ primary: old, secondary: next }, { primary: WEAK }, { primary: next }]
  for (const data of steps) {
    world.cluster.put('secret', 'edge-health-keys', { data })
    await world.run(20_000)
    for (const { agent } of world.machines) {
      if (agent === undefined) continue
      say('/status', agent.views.status())
      say('/status?node', agent.views.node('n1'))
      say('readiness', agent.views.readiness())
    }
  }
  t.match(
    world.machines[0]?.agent?.views.zone().keys.state,
    'ok',
    'the last step was taken by everybody',
  )
  world.crash(2)
  await world.run(30_000)
  for (const { log } of world.machines) say('log', log.lines)
  say('writes', [world.writesSince(0), world.indices.map(i => world.cluster.node(`n${i}`))])
  t.ok(said.length > 50 && said.some(([where]) => where === 'gossip'), `${said.length} were heard`)
  t.ok(said.some(([where, what]) => where === 'log' && what.length > 100))
  for (const key of KEYS) {
    const forms = formsOf(key)
    const found = said.find(([, what]) => forms.some(form => Buffer.from(what).includes(form)))
    t.equal(found?.[0], undefined, `'${key}' is nowhere`)
  }
})

t.test('without any key: nobody is judged, and nobody speaks of a last good one', async t => {
  const world = new World(3)
  t.teardown(() => world.stop())
  world.cluster.remove('secret', 'edge-health-keys')
  world.bootAll()
  await world.run(20_000)
  const { agent, log } = world.machine(0)
  t.match(
    statusText(agent!.views.status(), plain),
    /: 3 nodes .*\nnothing is judged yet; [^]*\n! no usable key, so nothing is judged: shared key must be given in the key Secret or in /,
  )
  const said = [...world.cluster.events.map(({ note }) => note), ...log.lines.map(({ message }) => message)] // prettier-ignore
  t.ok(said.some(text => text.includes('and there was no good one before')))
  t.notOk(said.some(text => text.includes('last good one')))
})

t.test('signatures are compared in constant time', t => {
  const folder = join(import.meta.dirname, '../../../../agent')
  const signers = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
    .filter(({ text }) => text.includes('createHmac('))
  t.strictSame(signers.map(({ name }) => name).sort(), [
    'identity/pair-key.ts',
    'stages/exchange/superedge/result-body.ts',
    'stages/exchange/wire.ts',
  ])
  for (const { name, text } of signers) {
    // It makes a key of a secret that two nodes agreed on, and has nothing to compare.
    const isKeyMaker = name === 'identity/pair-key.ts'
    t.equal(text.includes('timingSafeEqual('), !isKeyMaker, name)
    const careless = /\b(mac|hmac|wanted|given|signature)(\.equals\(| [!=]== (?!BAD\b|''))/i
    t.notOk(careless.exec(text), `${name}: in no other way`)
  }
  t.end()
})

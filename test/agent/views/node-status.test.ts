// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { peerTroubleOf } from '../../../agent/views/node-status.js'
import { notesOf } from '../../../agent/text/status-text.js'
import { World } from '../../../testkit/zone/world.js'

t.test('an agent that died while its kubelet answers is shown until it is back', async t => {
  const world = new World(3)
  t.teardown(() => world.stop())
  await world.settled()
  const seen = () => {
    const { at, nodes } = world.machine(0).agent!.views.status()
    return nodes.map(node => [node.class, ...notesOf(node, at)].join(': '))
  }
  t.strictSame(seen(), ['healthy', 'healthy', 'healthy'])
  world.killAgent(2)
  await world.run(50_000)
  t.strictSame(seen(), ['healthy', 'healthy', 'healthy'], 'its last record counts still')
  await world.run(80_000)
  t.strictSame(seen(), ['healthy', 'healthy', 'healthy: agent not heard for 2 min'])
  world.boot(2)
  await world.run(20_000)
  t.strictSame(seen(), ['healthy', 'healthy', 'healthy'])
})

t.test(
  'in a large zone, whose Nodes are not read, nothing is about to be written of healthy nodes',
  async t => {
    const world = new World(30)
    t.teardown(() => world.stop())
    await world.settled()
    const { nodes } = world.machine(0).agent!.views.status()
    t.strictSame(
      nodes.filter(({ verdict, nextWrite }) => verdict !== 'healthy' || nextWrite !== null),
      [],
    )
  },
)

t.test(
  'trouble with a peer: the last request first, then what it sends, then what it signed',
  async t => {
    const said = { trouble: null, equivocations: 2 }
    t.equal(peerTroubleOf({ ...said, trouble: 'no answer' }, ['unsigned']), 'no answer')
    t.equal(peerTroubleOf(said, ['unsigned', 'too-fast']), 'refused: unsigned, too-fast')
    t.match(peerTroubleOf(said, []), /^signed different statements for one time \(2\): /)
    t.equal(peerTroubleOf({ ...said, equivocations: 0 }, []), null)
  },
)

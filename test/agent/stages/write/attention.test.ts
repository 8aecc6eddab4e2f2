// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { Attention } from '../../../../agent/stages/write/attention.js'
import { FakeWatches, nodeView } from '../../fake-watches.js'

const make = () => {
  const kube = new FakeWatches()
  let changes = 0
  const attention = new Attention({ kube, onChange: () => changes++ })
  return {
    attention,
    /** A look at the zone in which these need it. */
    review: (...names: readonly string[]) => {
      attention.begin()
      for (const name of names) attention.ask(name)
      attention.end()
    },
    open: () => kube.nodes.filter(({ isOpen }) => isOpen),
    openNames: () => kube.nodes.filter(({ isOpen }) => isOpen).map(({ key }) => key),
    changes: () => changes,
  }
}

t.test('a Node is followed as long as it is asked for', async t => {
  const { attention, review, open, openNames, changes } = make()
  review('n2')
  t.strictSame(openNames(), ['n2'])
  t.ok(attention.has('n2'))
  t.equal(attention.nodeOf('n2'), undefined, 'not known yet')
  const [{ sink }] = open() as [typeof open extends () => (infer T)[] ? T : never]
  sink.replace([nodeView('n2')])
  sink.upsert(nodeView('n2', { resourceVersion: '2' }))
  t.equal(attention.nodeOf('n2')?.resourceVersion, '2')
  sink.remove('n2')
  t.equal(attention.nodeOf('n2'), undefined, 'it is gone')
  t.equal(changes(), 3)
  review('n2', 'n3')
  t.strictSame(openNames(), ['n2', 'n3'], 'no watch begins twice')
  review('n3')
  t.strictSame(openNames(), ['n3'])
  t.notOk(attention.has('n2'))
  await attention.stop()
  t.strictSame(openNames(), [])
})

t.test('some are followed at a time; others when there is room', async t => {
  const { review, openNames } = make()
  const names = Array.from({ length: 12 }, (_, i) => `n${i}`)
  review(...names)
  t.strictSame(openNames(), names.slice(0, 8))
  review(...names.slice(4))
  t.strictSame(openNames(), names.slice(4))
})

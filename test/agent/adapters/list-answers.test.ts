// SPDX-License-Identifier: Apache-2.0
// Lists and Nodes from a server, or a cache before it, that answers something else than what it was asked for.
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { never, rawNode, startPlain } from '../../../testkit/kube/built-kube.js'
import { settle } from '../../../testkit/fake-clock.js'
import { answer, type Step } from '../../../testkit/http/scripted-server.js'

const metadata = { resourceVersion: '7' }
t.test('what is no list of Nodes never passes as an empty one', async t => {
  const { api, server } = await startPlain(t)
  const rows: readonly [what: string, body: object, notes: RegExp, members: RegExp | undefined][] =
    [
      ['a Table', { kind: 'Table', metadata, columnDefinitions: [], rows: [] }, /its kind is "Table"/, undefined],
      ['a Node', { ...rawNode, kind: 'Node' }, /its kind is "Node"/, /its kind is "Node"/],
      ['metadata of a Node', { ...rawNode, kind: 'PartialObjectMetadata' }, /its kind is "Partial/, /its kind is "Partial/],
      ['a Status', { kind: 'Status', metadata, status: 'Success' }, /its kind is "Status"/, /its kind is "Status"/],
      ['no kind and no items', { metadata }, /its kind is undefined/, /its kind is undefined/],
      ['no kind and no version', { metadata: {}, items: [] }, /its kind is undefined/, /its kind is undefined/],
      ['Pods', { kind: 'PodList', metadata, items: [] }, /the answer is a PodList, not a NodeList/, /the answer is a PodList/],
      ['metadata in the place of rows', { kind: 'PartialObjectMetadataList', metadata, items: [] }, /^$/, /the answer is a Partial/],
    ] // prettier-ignore
  for (const [what, body, notes, members] of rows) {
    server.script(answer(body), answer(body))
    if (what === 'metadata in the place of rows')
      t.same((await api.listNodeNotes(['n1', 'n2'], '7', never)).nodes, [], what)
    else await t.rejects(api.listNodeNotes(['n1', 'n2'], '7', never), { message: notes }, what)
    if (members === undefined)
      t.same((await api.listMembers('', '7', never)).members, [], `${what}, of members`)
    else await t.rejects(api.listMembers('', '7', never), { message: members }, what)
  }
})

t.test('lists of Nodes, as servers spell them', async t => {
  const { api, server } = await startPlain(t)
  for (const kind of ['PartialObjectMetadataList', 'NodeList', 'nodeList', 'List']) {
    server.script(answer({ kind, metadata, items: [rawNode] }))
    const { nodes, version } = await api.listNodeNotes(['n1'], '7', never)
    t.same([nodes.map(({ name }) => name), version], [['n1'], '7'], kind)
  }
})

t.test('the Node of another name is not taken for the one that was asked for', async t => {
  const { api, server } = await startPlain(t)
  server.script(answer(rawNode))
  await t.rejects(api.getNodeNotes('n2', never), { message: /GET Node n2: the answer is about n1/ })
})

const packed = (count: number, each: object, cut = 0): Step => {
  const items = Array.from({ length: count }, (_, i) => ({
    metadata: { ...rawNode.metadata, name: `n${i}`, ...each },
  }))
  const list = { kind: 'PartialObjectMetadataList', metadata, items }
  const bytes = gzipSync(JSON.stringify(list))
  const headers = { 'content-encoding': 'gzip' }
  return answer(bytes.subarray(0, bytes.length - cut), { headers })
}

t.test('metadata of some Nodes has a bound, however it is compressed', async t => {
  const { api, server } = await startPlain(t)
  const ask = () => api.listNodeNotes(['n1', 'n2'], '7', never)
  server.script(packed(10_000, {}))
  t.equal((await ask()).nodes.length, 10_000, 'of a server that ignores selectors')
  server.script(packed(10_000, { annotations: { 'a/b': 'x'.repeat(1_000) } }))
  await t.rejects(ask(), { message: /larger than 4194304 bytes/ })
  server.script(packed(10, {}, 20))
  await t.rejects(ask(), { message: /unexpected end of file/ }, 'half of it')
  server.script(answer(gzipSync('{')))
  await t.rejects(ask(), { message: /not JSON/ }, 'compressed, and not said so')
})

t.test('a list that comes byte by byte is given up', async t => {
  const { api, server, clock } = await startPlain(t)
  const lists = [
    () => api.listNodeNotes(['n1', 'n2'], '7', never),
    () => api.listMembers('', '7', never),
  ]
  for (const [i, list] of lists.entries()) {
    server.script({ kind: 'stream' })
    const listed = list().catch((error: unknown) => error)
    const slow = await server.request(i)
    for (let second = 0; second < 120; second += 5) {
      slow.write(' ')
      await settle()
      await clock.advance(5_000)
    }
    await slow.gone
    t.match(await listed, { message: 'no answer within 120000 ms' })
  }
})

// SPDX-License-Identifier: Apache-2.0
// Services and endpoints are served without this node's labels, which topology keys alone depend on.
import t from 'tap'
import { behind, refuseWith } from './front.js'
import {
  isSo,
  memoryFolder,
  MERGE,
  startUpstream,
  startWrapper,
  type WrapperBed,
} from './wrapper-bed.js'

t.setTimeout(180_000)

const NET = 12
/** Longer than `--boot-wait`. */
const BOOTED_MS = 4_000

/** What a client sees that asked before the wrapper had anything. */
const shownLater = async (bed: WrapperBed): Promise<string> => {
  const over = new AbortController()
  const asking = bed.shown().finally(() => over.abort())
  while (!over.signal.aborted) await bed.clock.advance(100)
  return asking
}

for (const [what, spoil] of [
  ['missing', files => files.delete('nodes.list')],
  ['damaged', files => files.set('nodes.list', Buffer.from('edge-health list 1 nodes 5 1\nxx'))],
] as const satisfies readonly [string, (files: Map<string, Buffer>) => unknown][])
  t.test(`a boot without the cloud, the list of nodes ${what}: endpoints are served`, async t => {
    const upstream = await startUpstream(t)
    const folder = memoryFolder()
    const first = await startWrapper(t, upstream, { folder, net: NET })
    await isSo(async () => (await first.shown()) === 'a,b,c')
    await first.wrapper.stop()
    spoil(folder.files)
    upstream.api.cutLink('wrapper', 'refused')
    const second = await startWrapper(t, upstream, { folder, net: NET })
    t.equal(await shownLater(second), 'a,b,c')
    t.match((await second.status()).ready, { reason: 'not known yet: nodes' })
  })

for (const code of [403, 404])
  t.test(`nodes alone are answered ${code}: only services with keys need them`, async t => {
    const upstream = await startUpstream(t)
    let isRefused = true
    const front = await behind(t, upstream, ({ url }, response) => {
      const isMeant = isRefused && (url ?? '').startsWith('/api/v1/nodes')
      if (isMeant) refuseWith(response, code)
      return isMeant
    })
    const bed = await startWrapper(t, front, { net: NET })
    t.equal(await shownLater(bed), 'a,b,c')
    await bed.clock.advance(BOOTED_MS)
    const { ready } = await bed.status()
    t.match(ready, { isReady: false, reason: 'not known yet: nodes' })
    for (const name of ['a', 'b'])
      await upstream.ask(
        `PATCH /api/v1/nodes/${name}`,
        { metadata: { labels: { zone: 'z' } } },
        MERGE,
      )
    await upstream.ask(
      'PATCH /api/v1/namespaces/default/services/web',
      { metadata: { annotations: { topologyKeys: '["zone"]' } } },
      MERGE,
    )
    await isSo(async () => (await bed.shown()) === 'a')
    t.pass('its keys close it but for this node')
    isRefused = false
    await bed.clock.advance(120_000)
    await isSo(async () => (await bed.shown()) === 'a,b')
    t.pass('until the labels are known')
  })

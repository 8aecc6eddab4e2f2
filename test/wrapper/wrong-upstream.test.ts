// SPDX-License-Identifier: Apache-2.0
// A wrapper that is led to a wrapper, itself or another one, instead of the apiserver.
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { TestApi } from '../../testkit/kube/api-client.js'
import { behind, passOn } from './front.js'
import { isSo, SLICES, startUpstream, startWrapper, type WrapperBed } from './wrapper-bed.js'

// Some 3 s; a busy machine takes longer.
t.setTimeout(180_000)

const NET = 24

/** What leads to the apiserver, or somewhere else from a moment on. */
const startFront = async (t: Test, upstream: TestApi) => {
  let target = upstream.api.url
  const open = new Set<Socket>()
  const front = await behind(t, upstream, (request, response) => {
    open.add(request.socket)
    passOn(target, request, response)
    return true
  })
  const lead = (to: string): void => {
    target = to
    for (const socket of open) socket.destroy()
    open.clear()
  }
  return { front, lead }
}

const troubleOf = async (bed: WrapperBed, resource: string): Promise<string> => {
  const { resources } = await bed.status()
  return resources.find(one => one.resource === resource)?.trouble ?? ''
}

for (const which of ['another one', 'itself'])
  t.test(`a wrapper that comes to follow ${which} keeps what the apiserver said`, async t => {
    const upstream = await startUpstream(t)
    const other = await startWrapper(t, upstream, { name: 'b', net: NET })
    other.agent.say({ a: true, b: true, c: false })
    await isSo(async () => (await other.shown()) === 'a,b')
    const { front, lead } = await startFront(t, upstream)
    const bed = await startWrapper(t, front, { net: NET })
    bed.agent.say({ a: true, b: true, c: false })
    await isSo(async () => (await bed.shown()) === 'a,b')

    lead(which === 'itself' ? bed.url : other.url)
    const isRefused = async (): Promise<boolean> => {
      await bed.clock.advance(1_000)
      return (await troubleOf(bed, 'endpointslices')).includes("is a wrapper's")
    }
    await isSo(isRefused)
    const { resources } = await bed.status()
    t.match(
      resources.find(({ resource }) => resource === 'endpointslices'),
      { isStale: true },
      'and the status says so',
    )
    bed.agent.say({ a: true, b: true, c: true })
    await isSo(async () => (await bed.shown()) === 'a,b,c')
    t.pass('what was left out while the node was dead is there')

    const [slice] = (await upstream.ask(`GET ${SLICES}`)).body['items'] as Record<string, unknown>[]
    const endpoints = [...(slice!['endpoints'] as object[]), { addresses: ['1.0.0.9'] }]
    await upstream.ask(`PUT ${SLICES}/web-1`, { ...slice, endpoints })
    lead(upstream.api.url)
    const isBack = async (): Promise<boolean> => {
      await bed.clock.advance(1_000)
      return (await bed.shown()) === 'a,b,c,1.0.0.9'
    }
    await isSo(isBack)
    await isSo(async () => {
      await bed.clock.advance(1_000)
      return (await troubleOf(bed, 'endpointslices')) === ''
    })
  })

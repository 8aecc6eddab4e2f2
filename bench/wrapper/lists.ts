// SPDX-License-Identifier: Apache-2.0
// How long the first list takes, side by side: a real kube-apiserver with many slices, and the wrapper in front of it.
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { servingPair } from '../../testkit/control-plane/certificates.js'
import { type ControlPlane, makeControlPlane } from '../../testkit/control-plane/control-plane.js'
import { binariesIn } from '../../testkit/control-plane/programs.js'
import { FakeAgent } from '../../testkit/zone/fake-agent.js'
import { findPlane } from '../grids/plane.js'
import { type Api, get, list, makeReader, watchHeaders } from './client.js'
import { ALL_ENDPOINTS, LARGE, makeService, makeSlice, nodeName } from './cluster.js'
import { Wrapper } from './process.js'
import * as proto from './proto.js'
import { percentile, type Row } from './table.js'

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices'
const IN_DEFAULT = {
  services: '/api/v1/namespaces/default/services',
  slices: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
} as const
const WIDTH = 16
const ROUNDS = 7
const PROTOBUF = 'application/vnd.kubernetes.protobuf'

const post = (api: Api, agent: Agent, path: string, body: Buffer): Promise<void> =>
  new Promise((resolve, reject) => {
    const sent = request(new URL(path, api.url), {
      ...{ agent, method: 'POST' },
      headers: {
        authorization: `Bearer ${api.token ?? ''}`,
        'content-type': PROTOBUF,
        accept: PROTOBUF,
        'content-length': body.length,
      },
    })
    sent.on('error', reject).on('response', answer => {
      let text = ''
      answer.setEncoding('latin1').on('data', (part: string) => (text += part))
      answer.on('end', () => {
        if (answer.statusCode === 201) resolve()
        else reject(new Error(`POST ${path}: ${answer.statusCode ?? 0} ${text.slice(0, 300)}`))
      })
    })
    sent.end(body)
  })

const fillReal = async (api: Api): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: WIDTH, ca: api.ca })
  let next = 0
  const worker = async (): Promise<void> => {
    for (let i = next++; i < LARGE.services; i = next++) {
      await post(api, agent, IN_DEFAULT.services, proto.envelope('v1', 'Service', makeService(i)))
      const slice = proto.envelope('discovery.k8s.io/v1', 'EndpointSlice', makeSlice(i, LARGE))
      await post(api, agent, IN_DEFAULT.slices, slice)
    }
  }
  await Promise.all(Array.from({ length: WIDTH }, worker))
  agent.destroy()
}

/** Ms until the whole of it is here; a client of today asks for gzip, and for the list as events. */
const timeList = async (api: Api): Promise<number> => {
  const startedAt = performance.now()
  const { items } = await list(api, `${SLICES}?resourceVersion=0`, 'protobuf', true)
  if (items.length !== LARGE.services) throw new Error(`listed ${items.length} slices`)
  return performance.now() - startedAt
}

const timeStream = async (api: Api): Promise<number> => {
  const startedAt = performance.now()
  const query =
    'watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
  const stream = await get(api, `${SLICES}?${query}`, watchHeaders('protobuf'))
  const read = makeReader('protobuf')
  let count = 0
  for await (const chunk of stream)
    for (const { type, seen } of read(chunk as Buffer)) {
      if (type === 'ADDED') count++
      if (!seen.isInitialEnd) continue
      if (count !== LARGE.services) throw new Error(`streamed ${count} slices`)
      stream.destroy()
      return performance.now() - startedAt
    }
  throw new Error('the stream ended before its initial events did')
}

/** In turns, so that whatever else the machine does hits both alike. */
const compare = async (
  time: (api: Api) => Promise<number>,
  straight: Api,
  wrapped: Api,
): Promise<{ readonly straight: number; readonly wrapped: number }> => {
  const found = { straight: [] as number[], wrapped: [] as number[] }
  for (let i = 0; i <= ROUNDS; i++) {
    const a = await time(straight)
    const b = await time(wrapped)
    if (i === 0) continue
    found.straight.push(a)
    found.wrapped.push(b)
  }
  return {
    straight: percentile(found.straight, 0.5),
    wrapped: percentile(found.wrapped, 0.5),
  }
}

const rowOf = (
  what: string,
  { straight, wrapped }: { readonly straight: number; readonly wrapped: number },
): Row => ({
  what: `${what}, ${ALL_ENDPOINTS(LARGE)} endpoints`,
  bar: '≤ 1.5 × apiserver',
  measured: `${(wrapped / straight).toFixed(2)} × (${wrapped.toFixed(0)} ms, apiserver ${straight.toFixed(0)} ms)`,
  isMet: wrapped <= 1.5 * straight,
})

const measure = async (
  plane: ControlPlane,
  say: (line: string) => void,
): Promise<readonly Row[]> => {
  const straight: Api = { url: plane.url, token: plane.adminToken, ca: plane.ca }
  const startedAt = performance.now()
  await fillReal(straight)
  say(
    `  ${LARGE.services} Services and slices made in ${Math.round(performance.now() - startedAt)} ms`,
  )
  const agent = new FakeAgent()
  agent.publish(new Map(Array.from({ length: LARGE.nodes }, (_, i) => [nodeName(i), true])))
  const localInfo = await agent.start()
  const wrapper = await Wrapper.start(straight, { node: nodeName(0), localInfo })
  try {
    return [
      rowOf('initial list, gzip', await compare(timeList, straight, wrapper.api)),
      rowOf('initial list as a stream', await compare(timeStream, straight, wrapper.api)),
    ]
  } finally {
    await wrapper.stop()
    await agent.stop()
  }
}

/** @param isIsolated whether this process has a network of its own, where the fixed ports of the lab are free. */
export const listRows = async (
  isIsolated: boolean,
  say: (line: string) => void,
): Promise<readonly Row[]> => {
  if (!isIsolated) {
    const measured = 'needs a network namespace: run it as root on Linux'
    return [{ what: 'initial list', bar: '≤ 1.5 × apiserver', measured, isMet: undefined }]
  }
  const binaries = await findPlane(say)
  const dir = mkdtempSync(join(tmpdir(), 'edge-health-bench-'))
  const plane = await makeControlPlane({
    ...{ dir, users: [], graceMs: undefined },
    binaries: binariesIn(binaries),
    serving: await servingPair(['127.0.0.1']),
    onCrash: ({ title }) => say(`  ${title} ended by itself`),
  })
  try {
    await plane.start(new AbortController().signal)
    return await measure(plane, say)
  } finally {
    await plane.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

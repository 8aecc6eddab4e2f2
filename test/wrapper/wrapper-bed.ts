// SPDX-License-Identifier: Apache-2.0
// The whole wrapper against the embedded API and an agent that the test speaks for; time moves when it is told.
import type { Test } from 'tap'
import { USERS_FRESH_MS } from '../../net/socket-users.js'
import { makeCredentials } from '../../kube/client/credentials.js'
import type { Folder } from '../../wrapper/disk/folder.js'
import type { AgentAnswer } from '../../wrapper/health/agent-client.js'
import { resolveWrapperOptions } from '../../wrapper/options/resolve.js'
import type { ServiceView, WrapperStatusView } from '../../wrapper/status/status-view.js'
import { makeWrapper, type Wrapper } from '../../wrapper/wrapper.js'
import { testApi, type TestApi } from '../../testkit/kube/api-client.js'
import { FakeClock, settle } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { seededRandom } from '../../testkit/seeded-random.js'
import type { Thing } from './wrapper-world.js'

export const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
export const ENDPOINTS = '/api/v1/namespaces/default/endpoints'

/** An agent as the test wants it: a stream while it is up, refused connections else. */
class Agent {
  readonly asked: URL[] = []
  #isUp = true
  readonly #reports: string[] = []
  #wake: () => void = () => undefined

  readonly ask = (text: string, signal: AbortSignal): Promise<AgentAnswer> => {
    const url = new URL(text)
    this.asked.push(url)
    if (!this.#isUp) return Promise.reject(new Error('connect ECONNREFUSED'))
    const isStream = url.searchParams.has('stream')
    const chunks = isStream ? this.#stream(signal) : this.#document()
    return Promise.resolve({ status: 200, isStream, chunks })
  }

  say(normal: Readonly<Record<string, boolean>>): void {
    const entries = Object.entries(normal).map(([key, is]) => [key, { Normal: is }] as const)
    this.#reports.push(JSON.stringify(Object.fromEntries(entries)))
    this.#wake()
  }

  die(): void {
    this.#isUp = false
    this.#wake()
  }

  async *#stream(signal: AbortSignal): AsyncGenerator<Buffer> {
    let from = Math.max(0, this.#reports.length - 1)
    signal.addEventListener('abort', () => this.#wake())
    while (this.#isUp && !signal.aborted) {
      const next = this.#reports[from]
      if (next === undefined) await new Promise<void>(resolve => (this.#wake = resolve))
      else {
        from++
        yield Buffer.from(`event: snapshot\ndata: ${next}\n\n`)
      }
    }
  }

  async *#document(): AsyncGenerator<Buffer> {
    yield await Promise.resolve(Buffer.from(this.#reports.at(-1) ?? '{}'))
  }
}

export const memoryFolder = (): Folder & { readonly files: Map<string, Buffer> } => {
  const files = new Map<string, Buffer>()
  return {
    files,
    read: name => {
      const file = files.get(name)
      return Promise.resolve(file && { size: file.length, pieces: [file] })
    },
    replace: (name, pieces) => {
      files.set(name, Buffer.concat([...pieces].map(piece => Buffer.from(piece))))
      return Promise.resolve()
    },
  }
}

export const MERGE = { 'content-type': 'application/merge-patch+json' }

let lastHost = 0

/** A wrapper of node `a`. */
export const startWrapper = async (
  t: Test,
  upstream: TestApi,
  more: { folder?: Folder; name?: string; net?: number } = {},
) => {
  const clock = new FakeClock()
  const log = recordingLog()
  const agent = new Agent()
  // Test files run beside each other: each has its own third byte.
  const host = `127.33.${more.net ?? 8}.${++lastHost}`
  const flags = {
    'node-name': more.name ?? 'a',
    ...{ 'bind-address': `${host}:51006`, 'status-address': `${host}:51007` },
  }
  const given = Object.entries(flags).map(([name, text]) => ({ name, text }))
  const { options } = resolveWrapperOptions({ flags: given, env: {} })
  const credentials = makeCredentials(
    { masterUrl: upstream.api.url, environment: {}, serviceAccountFolder: '/nonexistent' },
    { clock, log },
  )
  const wrapper: Wrapper = makeWrapper(options, {
    ...{ clock, log, credentials, random: seededRandom(1), version: 'test', ask: agent.ask },
    ...{ folder: more.folder ?? memoryFolder(), readTls: () => undefined },
    apiserverTrouble: () => undefined,
  })
  t.teardown(() => wrapper.stop())
  await wrapper.start()
  const json = async (url: string): Promise<unknown> => (await fetch(url)).json()
  const list = async (path: string): Promise<readonly Thing[]> =>
    ((await json(`http://${host}:51006${path}`)) as { items?: readonly Thing[] }).items ?? []
  const url = `http://${host}:51006`
  return {
    ...{ clock, log, agent, wrapper, list, url },
    /** With a body, maybe over a new connection, of which the last read of the kernel's sockets knows nothing. */
    write: async (path: string, given: RequestInit): Promise<Response> => {
      await clock.advance(USERS_FRESH_MS)
      return fetch(url + path, given)
    },
    status: async () => (await json(`http://${host}:51007/status`)) as WrapperStatusView,
    explain: async (service: string) =>
      (await json(`http://${host}:51007/explain?service=${service}`)) as ServiceView,
    /** Nodes of the endpoints that are shown, or their addresses where they name none. */
    shown: async (path = SLICES): Promise<string> => {
      const endpoints = (await list(path)).flatMap(
        slice => (slice['endpoints'] ?? []) as { nodeName?: string; addresses: string[] }[],
      )
      return endpoints.map(({ nodeName, addresses }) => nodeName ?? addresses[0]).join()
    },
  }
}

export type WrapperBed = Awaited<ReturnType<typeof startWrapper>>

/** Look until it is there; time stands still. */
export const isSo = async (look: () => Promise<boolean> | boolean): Promise<void> => {
  while (!(await look())) await settle()
}

export const startUpstream = async (t: Test): Promise<TestApi> => {
  const upstream = await testApi({ anonymous: 'wrapper' })
  t.teardown(() => upstream.api.stop())
  for (const [i, name] of ['a', 'b', 'c'].entries())
    await upstream.ask('POST /api/v1/nodes', {
      metadata: { name },
      status: { addresses: [{ type: 'InternalIP', address: `10.0.0.${i + 1}` }] },
    })
  await upstream.ask('POST /api/v1/namespaces/default/services', {
    metadata: { name: 'web' },
    spec: { ports: [{ port: 80 }] },
  })
  await upstream.ask(`POST ${SLICES}`, {
    metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: ['a', 'b', 'c'].map((nodeName, i) => ({ addresses: [`1.0.0.${i}`], nodeName })),
    ports: [],
  })
  return upstream
}

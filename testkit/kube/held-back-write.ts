// SPDX-License-Identifier: Apache-2.0
// In a network namespace of its own: writes whose packets the kernel cannot deliver, which their caller withdraws, and what the
// server gets once packets pass again. Prints the requests that came, as JSON: with HTTP/1.1, and with HTTP/2.
import { execFileSync } from 'node:child_process'
import { systemClock } from '../../core/clock.js'
import { KubeClient } from '../../kube/client/client.js'
import { fixedCredentials } from '../../kube/client/fixed-credentials.js'
import type { KubeCall } from '../../kube/client/open-response.js'
import { certificateFor } from '../certificates.js'
import { answer, startScripted } from '../http/scripted-server.js'

const LIMITS = { timeoutMs: 60_000, maxBytes: 1_000 }
const READ: KubeCall = { method: 'GET', path: '/read' }
const WRITE: KubeCall = {
  ...{ method: 'PATCH', path: '/write' },
  body: { type: 'application/json-patch+json', text: '[]' },
}
const WITHDRAWN_AFTER_MS = 1_000
/** More than the time in which a server must answer, once a write got no answer. */
const CUT_MS = 8_000
/** Both were sent at the same time, so the kernel repeats them at the same times. */
const LATER_MS = 5_000

const never = new AbortController().signal
const wait = (ms: number): Promise<void> =>
  new Promise(resolve => void systemClock.after(ms, resolve))
const authority = await certificateFor('127.0.0.1')

const open = async (hasHttp2: boolean) => {
  const server = await startScripted({ ...authority, hasHttp2 })
  server.script(answer({}), answer({}))
  const access = { server: server.url, token: 'a token', ca: authority.cert }
  const client = new KubeClient(fixedCredentials(access), systemClock, 'held-back-write')
  await client.json(READ, LIMITS, never)
  return { server, client }
}

const sides = [await open(false), await open(true)] as const
const cut = (how: '-A' | '-D'): void => {
  for (const { server } of sides)
    execFileSync('iptables', [
      ...['-w', how, 'OUTPUT', '-p', 'tcp', '--dport', String(server.port), '-j', 'DROP'],
    ])
}
cut('-A')
const stopping = new AbortController()
const writes = sides.map(({ client }) => client.json(WRITE, LIMITS, stopping.signal))
await wait(WITHDRAWN_AFTER_MS)
stopping.abort(new Error('withdrawn'))
await Promise.allSettled(writes)
await wait(CUT_MS)
cut('-D')
await sides[0].server.request(1)
await wait(LATER_MS)
const asked = sides.map(({ server }) => server.asked.map(({ method }) => method))
process.stdout.write(JSON.stringify({ http1: asked[0], http2: asked[1] }))
process.exit(0)

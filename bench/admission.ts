// SPDX-License-Identifier: Apache-2.0
// The bars of the webhook: the bundle as a process, against the embedded API, asked over TLS as an apiserver asks.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep, systemClock } from '../core/clock.js'
import { Child } from '../sandbox/child.js'
import { AGENT_FLAGS } from '../sandbox/image.js'
import { kubeconfigText } from '../sandbox/zone-objects.js'
import { makeNode } from '../testkit/admission/reviews.js'
import { openWebhookBed } from '../testkit/admission/webhook-bed.js'
import { never, rawType, until } from '../testkit/kube/raw-objects.js'
import { askAt, type Asked } from './admission/asker.js'
import { cpuMs, memoryOf } from './agent/proc.js'
import { readArguments } from './command/arguments.js'
import { buildBundle, finish } from './wrapper/isolated.js'
import { percentile, type Row } from './wrapper/table.js'

const HELP = `usage: npm run bench -- admission [options]
What the webhook promises, measured on the bundle: reviews of Nodes at a steady pace over kept TLS connections, and marks on Pods.

  --nodes 1000    Nodes that it knows, of 13.8 kB each
  --rate 100      reviews a second
  --seconds 60    how long
  --quick         200 Nodes, 5 s; the bars stay
  -o json         the rows as JSON

Times want a machine that does nothing else. Exits with 1 when a bar is missed, with 2 for a bad argument.
`

const { values, refuse, whole } = readArguments('admission', HELP, {
  nodes: { type: 'string' },
  rate: { type: 'string' },
  seconds: { type: 'string' },
  quick: { type: 'boolean', default: false },
})
const nodes = whole('nodes', values.nodes, values.quick ? 200 : 1_000)
const rate = whole('rate', values.rate, 100)
const seconds = whole('seconds', values.seconds, values.quick ? 5 : 60)

const PORT = 18_543
const STATUS = '127.0.0.1:51919'

buildBundle()
const dir = mkdtempSync(join(tmpdir(), 'edge-health-bench-'))
const bed = await openWebhookBed()
await bed.register()
const NODES = { group: '', version: 'v1', resource: 'nodes' }
// Images are the bulk of a real Node.
const padding = { images: Array.from({ length: 50 }, (_, at) => ({ names: [`registry.example.com/${at}@sha256:${'0'.repeat(180)}`], sizeBytes: 1 })) } // prettier-ignore
for (let at = 0; at < nodes; at++) {
  const { status } = makeNode({ ready: 'True' }) as { status: object }
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: `n${at}` }, status: { ...status, ...padding } } // prettier-ignore
  await bed.admin.create(rawType(NODES), {}, { body }, never)
}
const kubeconfig = join(dir, 'kubeconfig')
writeFileSync(kubeconfig, kubeconfigText(bed.api.api.url, 'webhook', bed.api.api.addClient('webhook'))) // prettier-ignore
const child = new Child({
  title: 'webhook',
  command: process.execPath,
  args: [
    // As the image's ENTRYPOINT has it.
    ...AGENT_FLAGS,
    ...['dist/edge-health.cjs', 'admission'],
    ...[`--kubeconfig=${kubeconfig}`, `--listen-address=127.0.0.1:${PORT}`],
    `--status-address=${STATUS}`,
  ],
  env: { HOME: dir, PATH: '/usr/bin:/bin' },
})
const rows: Row[] = []
const row = (what: string, bar: string, measured: string, isMet: boolean): void => {
  rows.push({ what, bar, measured, isMet })
}
try {
  await until('it is ready', async () => {
    if (child.end !== undefined) refuse(child.lastLines(5).join('\n'))
    return fetch(`http://${STATUS}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    )
  })
  await sleep(systemClock, 2_000, never)
  const ca = (await bed.bundle()) ?? ''
  const cpu = cpuMs(child.pid!)
  const asked: Asked = await askAt({ port: PORT, ca, rate, seconds, padding })
  const used = cpuMs(child.pid!) - cpu
  const [p50, p99] = [percentile(asked.ms, 0.5), percentile(asked.ms, 0.99)]
  const what = `${rate} reviews/s for ${seconds} s`
  row(`${what}: answers`, `${rate * seconds}`, `${asked.ms.length}`, asked.failed === 0)
  row(`${what}: all as they must be`, '0 wrong', `${asked.wrong} wrong`, asked.wrong === 0)
  row(`${what}: p50`, '–', `${p50.toFixed(1)} ms`, true)
  row(`${what}: p99`, '≤ 10 ms', `${p99.toFixed(1)} ms`, p99 <= 10)
  row(`${what}: CPU`, '–', `${(used / seconds).toFixed(1)} ms/s`, true)
  const { rssMiB, peakMiB } = memoryOf(child.pid!)
  row(`${nodes} Nodes: RSS`, '≤ 80 MiB', `${rssMiB.toFixed(0)} MiB, peak ${peakMiB.toFixed(0)}`, rssMiB <= 80) // prettier-ignore
} finally {
  await child.kill()
  await bed.stop()
  rmSync(dir, { recursive: true, force: true })
}
finish(rows, values.output)

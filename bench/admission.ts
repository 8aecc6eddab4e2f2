// SPDX-License-Identifier: Apache-2.0
// The bars of the webhook: the bundle as a process, against the embedded API, asked over TLS as an apiserver asks.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep, systemClock } from '../core/clock.js'
import { Child } from '../sandbox/child.js'
import { AGENT_FLAGS, IMAGE_ENV } from '../sandbox/image.js'
import { kubeconfigText } from '../sandbox/zone-objects.js'
import { makeNode, STAMP } from '../testkit/admission/reviews.js'
import { openWebhookBed } from '../testkit/admission/webhook-bed.js'
import { never, rawType, until } from '../testkit/kube/raw-objects.js'
import { askAt, podQuestion, taintQuestion, type Question } from './admission/asker.js'
import { cpuMs, memoryOf } from './agent/proc.js'
import { readArguments } from './command/arguments.js'
import { buildBundle, finish } from './wrapper/isolated.js'
import { percentile, type Row } from './wrapper/table.js'

const HELP = `usage: npm run bench -- admission [options]
What the webhook promises, measured on the bundle: reviews of Nodes, then of marks on Pods, at a steady pace over kept TLS
connections.

  --nodes 1000    Nodes that it knows, of 13.8 kB each
  --rate 100      reviews a second
  --seconds 60    how long each
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
/** One Node of this many is cut off, and its peers vouch for it. */
const CUT_EVERY = 10
// Images are the bulk of a real Node.
const padding = { images: Array.from({ length: 50 }, (_, at) => ({ names: [`registry.example.com/${at}@sha256:${'0'.repeat(180)}`], sizeBytes: 1 })) } // prettier-ignore
const names = Array.from({ length: nodes }, (_, at) => `n${at}`)
const isCut = (name: string): boolean => Number(name.slice(1)) % CUT_EVERY === 0
for (const name of names) {
  const odds = isCut(name)
    ? { ready: 'Unknown', word: { agoMs: STAMP - Date.now() } }
    : { ready: 'True', word: { reason: 'PeersReach' } }
  const { status } = makeNode(odds) as { status: object }
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { ...status, ...padding } } // prettier-ignore
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
    // Nobody vouches again here.
    ...[`--status-address=${STATUS}`, '--fresh-for=10m'],
  ],
  env: { ...IMAGE_ENV, HOME: dir, PATH: '/usr/bin:/bin' },
})
const rows: Row[] = []
const row = (what: string, bar: string, measured: string, isMet: boolean): void => {
  rows.push({ what, bar, measured, isMet })
}
/** What it takes now, and what it took at most since this was asked last. @param limitMiB undefined: no bar */
const memoryRow = (what: string, limitMiB?: number): void => {
  const { rssMiB, peakMiB } = memoryOf(child.pid!)
  // The kernel forgets its greatest size.
  writeFileSync(`/proc/${child.pid!}/clear_refs`, '5')
  const bar = limitMiB === undefined ? '–' : `≤ ${limitMiB} MiB`
  row(`${what}: RSS`, bar, `${rssMiB.toFixed(0)} MiB, at most ${peakMiB.toFixed(0)}`, rssMiB <= (limitMiB ?? Infinity)) // prettier-ignore
}
const measure = async (path: string, ca: string, question: Question): Promise<void> => {
  const cpu = cpuMs(child.pid!)
  const asked = await askAt({ port: PORT, ca, path, rate, seconds, question })
  const used = cpuMs(child.pid!) - cpu
  const [p50, p99] = [percentile(asked.ms, 0.5), percentile(asked.ms, 0.99)]
  const what = `${path}, ${rate} reviews/s for ${seconds} s`
  row(`${what}: answers`, `${rate * seconds}`, `${asked.ms.length}`, asked.failed === 0)
  row(`${what}: all as they must be`, '0 wrong', `${asked.wrong} wrong`, asked.wrong === 0)
  row(`${what}: p50`, '–', `${p50.toFixed(1)} ms`, true)
  row(`${what}: p99`, '≤ 10 ms', `${p99.toFixed(1)} ms`, p99 <= 10)
  row(`${what}: CPU`, '–', `${(used / seconds).toFixed(1)} ms/s`, true)
  memoryRow(what, 80)
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
  memoryRow(`${nodes} Nodes, just listed`)
  const ca = (await bed.bundle()) ?? ''
  const others = names.filter(name => !isCut(name))
  await measure('/node-taint', ca, taintQuestion(padding))
  await measure('/pod-status', ca, podQuestion(names.filter(isCut), others))
} finally {
  await child.kill()
  await bed.stop()
  rmSync(dir, { recursive: true, force: true })
}
finish(rows, values.output)

// SPDX-License-Identifier: Apache-2.0
// kubectl through the wrapper and straight at the apiserver: what it says, and how it ends, must be the same.
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Json } from '../../../sandbox/api-client.js'
import { systemClock, sleep } from '../../../core/clock.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { FakeAgent } from '../../../testkit/zone/fake-agent.js'
import { startWrapper } from '../../../testkit/wrapper-process.js'

const PORT = 51006

export interface KubectlParts {
  readonly plane: ControlPlane
  readonly script: string
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/** One command; NAME in it is a name of its own for each of the two sides. */
interface Row {
  readonly args: readonly string[]
  readonly input?: string
  /** Through which editor `edit` goes. */
  readonly editor?: string
  /** While it runs, this is done as the administrator: for those that wait or watch. */
  readonly meanwhile?: readonly (readonly string[])[]
  /** Ended from outside after so long. */
  readonly endAfterMs?: number
  /** What both must say, so that two equal refusals do not pass for success. */
  readonly says: RegExp
}

const service = (name: string, port: number, more = ''): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, labels: { app: 'kubectl', more: `m${more}` } },
    spec: { ports: [{ name: 'http', port }] },
  })

const slice = (name: string, service: string): string =>
  JSON.stringify({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, labels: { 'kubernetes.io/service-name': service, app: 'kubectl' } },
    addressType: 'IPv4',
    endpoints: [
      { addresses: ['10.1.1.1'], nodeName: 'n-0', conditions: { ready: true } },
      { addresses: ['10.1.1.2'], nodeName: 'n-1', conditions: { ready: true } },
    ],
    ports: [{ name: 'http', port: 8080 }],
  })

const node = (name: string, labels: Readonly<Record<string, string>> = {}): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } })

const words = (text: string): readonly string[] => text.split(' ')

const reads: readonly Row[] = [
  { args: words('get nodes'), says: /n-0/ },
  { args: words('get nodes -o wide'), says: /INTERNAL-IP/ },
  { args: words('get nodes -o json'), says: /"kind": "Node"/ },
  { args: words('get nodes -o name'), says: /node\/n-1/ },
  { args: words('get node n-0 -o yaml'), says: /name: n-0/ },
  { args: words('get nodes -l zone=a'), says: /n-0/ },
  { args: words('get nodes --field-selector metadata.name=n-1 -o json'), says: /"name": "n-1"/ },
  { args: words('get services'), says: /kubernetes/ },
  { args: words('get services -A -o wide'), says: /SELECTOR/ },
  { args: words('get services -A -o json'), says: /"clusterIP"/ },
  { args: words('get services -A -o json --chunk-size=2'), says: /fixed-3/ },
  { args: words('get services -o yaml -l app=fixed,more=m2'), says: /fixed-2/ },
  { args: words('get services --field-selector spec.clusterIP!=None -o name'), says: /fixed-1/ },
  { args: words('get services --show-labels'), says: /app=fixed/ },
  {
    args: words('get services -o custom-columns=N:.metadata.name,P:.spec.ports[*].port'),
    says: /fixed-1/,
  },
  { args: words('get endpointslices'), says: /ENDPOINTS/ },
  { args: words('get endpointslices -o json'), says: /10\.1\.1\.1/ },
  { args: words('get endpointslices -A -o wide'), says: /fixed-1-a/ },
  { args: words('get endpoints -A'), says: /ENDPOINTS/ },
  { args: words('get endpoints fixed -o json'), says: /10\.9\.9\.9/ },
  { args: words('get servicecidrs -o json'), says: /IP\/16/ },
  { args: words('get service fixed-1 -o json --show-managed-fields'), says: /managedFields/ },
  { args: words('describe node n-0'), says: /Taints:/ },
  { args: words('describe service fixed-1'), says: /Endpoints:\s+10\.1\.1\.1/ },
  { args: words('describe endpointslice fixed-1-a'), says: /NodeName:\s+n-1/ },
  { args: words('describe endpoints fixed'), says: /10\.9\.9\.9/ },
  { args: words('get configmaps -A'), says: /kube-root-ca|NAME|No resources/ },
  { args: words('get namespaces'), says: /kube-system/ },
  { args: words('get pods'), says: /sleeper/ },
  { args: words('get all -A'), says: /service\/kubernetes/ },
  { args: words('get --raw /readyz'), says: /ok/ },
  { args: words('get --raw /version'), says: /gitVersion/ },
  { args: words('get --raw /openapi/v3'), says: /paths/ },
  { args: words('get --raw /api/v1/nodes?limit=1'), says: /"kind":"NodeList"/ },
  { args: words('api-resources -o name'), says: /endpointslices\.discovery\.k8s\.io/ },
  { args: words('api-versions'), says: /discovery\.k8s\.io\/v1/ },
  { args: words('explain service.spec.ports'), says: /nodePort/ },
  { args: words('version -o json'), says: /serverVersion/ },
  { args: words('cluster-info'), says: /is running at/ },
  { args: words('auth whoami'), says: /admin/ },
  { args: words('auth can-i list nodes'), says: /yes/ },
  { args: words('get nodes --as=stranger'), says: /Forbidden.*nodes is forbidden.*stranger/ },
  { args: words('get nodes --as=stranger -o json'), says: /nodes is forbidden/ },
  { args: words('get service nobody'), says: /NotFound/ },
  { args: words('get node nobody'), says: /NotFound/ },
  { args: words('get services -l app=='), says: /fixed|No resources|unable/ },
  { args: words('get services -l !!'), says: /unable to parse/ },
  { args: words('get services --field-selector no.such=1'), says: /not supported|not known/ },
  { args: words('logs sleeper'), says: /Error|error/ },
  { args: words('exec sleeper -- true'), says: /rror/ },
  { args: words('top nodes'), says: /rror/ },
  {
    args: words('wait --for=jsonpath={.spec.type}=ClusterIP service/fixed-1 --timeout=5s'),
    says: /condition met/,
  },
  { args: words('wait --for=condition=Nothing node/n-0 --timeout=1s'), says: /timed out/ },
]

const writes: readonly Row[] = [
  { args: words('apply -f -'), input: service('NAME', 80), says: /created/ },
  { args: words('apply -f -'), input: service('NAME', 80), says: /unchanged/ },
  { args: words('apply -f -'), input: service('NAME', 81, '2'), says: /configured/ },
  { args: words('get service NAME -o json'), says: /"port": 81/ },
  { args: words('diff -f -'), input: service('NAME', 82), says: /port: 82/ },
  { args: words('diff -f -'), input: service('NAME', 81, '2'), says: /^$/ },
  {
    args: words('apply --server-side --force-conflicts -f -'),
    // Server-side apply knows ports by number: another one is one more, of the same name.
    input: service('NAME', 83),
    says: /Duplicate value/,
  },
  {
    args: words('apply --dry-run=server -f -'),
    input: service('NAME', 84),
    says: /server dry run/,
  },
  { args: words('create -f -'), input: slice('NAME-a', 'NAME'), says: /created/ },
  { args: words('create -f -'), input: slice('NAME-a', 'NAME'), says: /AlreadyExists/ },
  { args: words('label service NAME colour=blue'), says: /labeled/ },
  { args: words('annotate service NAME note=this'), says: /annotated/ },
  { args: words('get service NAME --show-labels'), says: /colour=blue/ },
  { args: words('edit service NAME'), editor: 'sed -i s/blue/green/', says: /edited/ },
  { args: words('get service NAME --show-labels'), says: /colour=green/ },
  {
    args: words('edit endpointslice NAME-a'),
    editor: 'sed -i s/10.1.1.1/10.1.1.7/',
    says: /edited/,
  },
  { args: words('get endpointslice NAME-a -o json'), says: /10\.1\.1\.7/ },
  {
    args: words(
      'patch service NAME -p {"spec":{"ports":[{"name":"http","port":90}]}} --type=merge',
    ),
    says: /patched/,
  },
  { args: words('get service NAME'), says: /90\/TCP/ },
  {
    args: words('get service NAME -w -o name'),
    meanwhile: [words('label service NAME seen=1'), words('delete service NAME')],
    endAfterMs: 5_000,
    says: /service\/NAME\nservice\/NAME\nservice\/NAME/,
  },
  { args: words('get service NAME'), says: /NotFound/ },
  { args: words('delete endpointslice NAME-a'), says: /deleted/ },
  { args: words('delete endpointslice NAME-a'), says: /NotFound/ },
  { args: words('label node n-1 touched=NAME --overwrite'), says: /labeled/ },
  { args: words('create -f -'), input: node('NAME'), says: /created/ },
  { args: words('cordon NAME'), says: /cordoned/ },
  { args: words('get node NAME'), says: /SchedulingDisabled/ },
  { args: words('uncordon NAME'), says: /uncordoned/ },
  { args: words('delete node NAME'), says: /deleted/ },
  { args: words('taint node n-1 NAME=x:NoSchedule'), says: /tainted/ },
  { args: words('taint node n-1 NAME-'), says: /untainted/ },
  { args: words('create configmap NAME --from-literal=a=b'), says: /created/ },
  { args: words('create configmap NAME --from-literal=a=b'), says: /already exists/ },
  { args: words('delete configmap NAME --wait=true'), says: /deleted/ },
]

interface Ran {
  readonly code: number
  readonly text: string
}

/** What may differ: versions, times, ages, identities, the address that was asked. */
const plain = (text: string, name: string): string =>
  text
    .replaceAll(name, 'NAME')
    .replaceAll(/https?:\/\/127\.0\.0\.1:\d+/g, 'SERVER')
    .replaceAll(/("?resourceVersion"?: ?"?)\d+/g, '$1N')
    .replaceAll(/"continue":"[^"]*"/g, '"continue":"C"')
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000/g, 'T')
    .replaceAll(/("?uid"?: ?"?)[0-9a-f-]{36}/g, '$1U')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'U')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'T')
    .replaceAll(/\b\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, 'T')
    .replaceAll(/\b(\d+m)?\d+s\b|<unknown>/g, 'AGE')
    .replaceAll(/10\.96\.\d+\.\d+/g, 'IP')
    .replaceAll(/^[IEW]\d{4} .*\n/gm, '')
    .replaceAll(/\/tmp\/\S+/g, 'FILE')
    .replaceAll(/ +/g, ' ')

class Kubectl {
  readonly #parts: KubectlParts
  readonly #kubectl: string
  readonly #config: string
  readonly #name: string

  constructor(parts: KubectlParts, side: { kubectl: string; config: string; name: string }) {
    this.#parts = parts
    this.#kubectl = side.kubectl
    this.#config = side.config
    this.#name = side.name
  }

  /** @returns what it said, without what may differ. */
  async run(row: Row): Promise<Ran> {
    const named = (text: string): string => text.replaceAll('NAME', this.#name)
    const running = this.#start(row.args.map(named), row, row.input && named(row.input))
    if (row.meanwhile !== undefined) {
      await sleep(systemClock, 1_000, this.#parts.signal)
      // What does not work shows in what the command says.
      for (const args of row.meanwhile)
        await this.#parts.plane.kubectl(args.map(named)).catch(() => undefined)
    }
    const { code, text } = await running
    return { code, text: plain(text, this.#name) }
  }

  #start(args: readonly string[], row: Row, input: string | undefined): Promise<Ran> {
    const { dir } = this.#parts.plane
    const all = [`--kubeconfig=${this.#config}`, `--cache-dir=${dir}/cache-${this.#name}`, ...args]
    return new Promise(resolve => {
      const env = { HOME: dir, PATH: '/usr/bin:/bin', KUBE_EDITOR: row.editor ?? 'false' }
      const timeout = row.endAfterMs ?? 60_000
      const child = execFile(this.#kubectl, all, { env, timeout }, (error, output, errors) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
        resolve({ code, text: `${output}${errors}` })
      })
      child.stdin?.on('error', () => undefined).end(input)
    })
  }
}

const prepare = async (plane: ControlPlane): Promise<void> => {
  const apply = (text: string): Promise<string> => plane.kubectl(['apply', '-f', '-'], text)
  for (const [i, zone] of ['a', 'b'].entries()) await apply(node(`n-${i}`, { zone }))
  for (const nth of [1, 2, 3]) {
    const text = service(`fixed-${nth}`, 80, String(nth)).replace('"kubectl"', '"fixed"')
    await apply(text)
    await apply(slice(`fixed-${nth}-a`, `fixed-${nth}`))
  }
  await apply(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'fixed' },
      subsets: [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ port: 80 }] }],
    }),
  )
  const pod: Json = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'sleeper' },
    spec: { nodeName: 'n-0', containers: [{ name: 'sleeper', image: 'sleeper' }] },
  }
  await apply(JSON.stringify(pod))
}

const SHOWN = 6

/** A few lines, from the first that differs. */
const excerpt = ({ code, text }: Ran, from: number): string => {
  const some = text.split('\n').slice(from, from + SHOWN)
  return [`exit ${code}, line ${from + 1}`, ...some.map(line => `      ${line}`)].join('\n')
}

const firstDifference = (one: string, other: string): number => {
  const others = other.split('\n')
  return Math.max(
    0,
    one.split('\n').findIndex((line, i) => line !== others[i]),
  )
}

const judge = async (
  rows: readonly Row[],
  sides: readonly [Kubectl, Kubectl],
  say: KubectlParts['say'],
) => {
  let bad = 0
  for (const row of rows) {
    const straight = await sides[0].run(row)
    const wrapped = await sides[1].run(row)
    const isSame = straight.code === wrapped.code && straight.text === wrapped.text
    const isSaid = row.says.test(straight.text)
    if (isSame && isSaid) continue
    bad++
    say(`  NOT OK kubectl ${row.args.join(' ')}${isSaid ? '' : ` (must say ${row.says})`}`)
    const at = firstDifference(straight.text, wrapped.text)
    say(`    straight: ${excerpt(straight, at)}\n    wrapper:  ${excerpt(wrapped, at)}`)
  }
  return bad
}

/** @returns whether both sides said the same to every command. */
export const runKubectl = async (parts: KubectlParts): Promise<boolean> => {
  const { plane, say, script, signal } = parts
  const agent = new FakeAgent()
  const localInfo = await agent.start()
  agent.publish(new Map([0, 1].map(i => [`n-${i}`, true])))
  await prepare(plane)
  const direct = join(plane.dir, 'kubeconfig')
  const wrapper = await startWrapper({
    ...{
      script,
      signal,
      localInfo,
      node: 'n-0',
      port: PORT,
      statusPort: 51_007,
      kubeconfig: direct,
      tlsDir: plane.dir,
    },
    stateDir: join(plane.dir, 'wrapper'),
  })
  try {
    const through = join(plane.dir, 'kubeconfig-wrapper')
    await writeFile(through, plane.kubeconfigFor(`https://127.0.0.1:${PORT}`), { mode: 0o600 })
    const { kubectl } = plane.binaries
    const sides = [
      new Kubectl(parts, { kubectl, config: direct, name: 'straight' }),
      new Kubectl(parts, { kubectl, config: through, name: 'wrapped' }),
    ] as const
    const rows = [...reads, ...writes]
    const bad = await judge(rows, sides, say)
    say(`kubectl: ${rows.length - bad} of ${rows.length} commands say the same on both sides`)
    return bad === 0
  } finally {
    await wrapper.kill()
    await agent.stop()
  }
}

// SPDX-License-Identifier: Apache-2.0
// A whole bridge on real sockets against the embedded Kubernetes API, and simulated edges.
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { makeSigner } from '../../../bridge/enroll/signer.js'
import type { BridgeOptions } from '../../../bridge/options/bridge-options.js'
import { makeProgram } from '../../../bridge/run/program.js'
import { systemClock, type Clock } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import { systemRandom, type Random } from '../../../core/random.js'
import { edgeSubject, requestCertificate } from '../../../testkit/edge/certificate-request.js'
import { Edge } from '../../../testkit/edge/edge.js'
import type { EdgeEvent, EdgeTimes } from '../../../testkit/edge/edge-part.js'
import { dialWebsocket, type CloudTarget } from '../../../testkit/edge/link.js'
import { memoryStore, type EdgeStore } from '../../../testkit/edge/store.js'
import { testApi, type TestApi } from '../../../testkit/kube/api-client.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { freePort } from '../../../testkit/free-port.js'

/** An edge's periods, so short that a test takes seconds. */
const FAST: Partial<EdgeTimes> = {
  ...{ leaseMs: 200, registerMs: 20, longestRegisterMs: 200, reconnectMs: 200, redialMs: 100 },
  ...{ podAdmitMs: 10, podStartMs: 20, podStopMs: 10, mountRetryMs: 50, keepaliveMs: 500 },
  sendsPerSecond: 1_000,
}

export const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await new Promise(resolve => setTimeout(resolve, 5))
}

const HOST = '127.0.0.1'

/** The embedded API with the namespaces that a cluster of edges has. */
export const openCluster = async (t: Test): Promise<TestApi> => {
  const cluster = await testApi()
  t.teardown(() => cluster.api.stop())
  for (const name of ['kubeedge', 'edge-system', 'kube-node-lease', 'shop'])
    await cluster.ask('POST /api/v1/namespaces', { metadata: { name } })
  return cluster
}

let bridges = 0

/** A bridge that serves, unless another one does. */
export const openBridge = async (
  t: Test,
  cluster: TestApi,
  more: Partial<BridgeOptions> = {},
  {
    clock = systemClock,
    random = systemRandom,
  }: { readonly clock?: Clock; readonly random?: Random } = {},
) => {
  const user = `bridge-${++bridges}`
  // Not `t.testdir`, which removes what another bridge of the same test writes to.
  const folder = mkdtempSync(join(tmpdir(), 'edge-health-bridge-'))
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'x' },
      clusters: [{ name: 'x', cluster: { server: cluster.api.url } }],
      users: [{ name: 'x', user: { token: cluster.api.addClient(user) } }],
      contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
    }),
  )
  const ports = { hub: await freePort(), enrol: await freePort(), status: await freePort() }
  const log = recordingLog()
  const program = makeProgram(
    {
      kubeconfig,
      masterUrl: undefined,
      listenAddress: { host: HOST, port: ports.hub },
      enrolAddress: { host: HOST, port: ports.enrol },
      statusAddress: { host: HOST, port: ports.status },
      ...{ advertiseAddresses: [HOST], answerWithinMs: 30_000, identity: user },
      ...{ vouch: 'zone', stateDir: join(folder, 'state') },
      ...{ adoptObjectSyncs: false, writeObjectSyncs: false },
      ...{ leaseNamespace: 'edge-system', leaseName: 'edge-health-bridge', logLevel: 'info' },
      ...more,
    },
    { clock, random, log, version: 'test', environment: {} },
  )
  t.teardown(async () => {
    await program.stop()
    rmSync(folder, { recursive: true })
  })
  await program.start()
  const fetchText = async (path: string) => {
    const answer = await fetch(`http://${HOST}:${ports.status}${path}`)
    return { status: answer.status, text: await answer.text() }
  }
  const url = `wss://${HOST}:${ports.hub}`
  const isServing = async () => (await fetchText('/metrics')).text.includes('_serving 1\n')
  const authority = async () => {
    const { body } = await cluster.ask('GET /api/v1/namespaces/kubeedge/secrets/casecret')
    const { cadata = '', cakeydata = '' } = body['data'] as Record<string, string>
    return makeSigner({
      certificate: Buffer.from(cadata, 'base64'),
      key: Buffer.from(cakeydata, 'base64'),
    })
  }
  /** What an edge of that name has when it has enrolled. */
  const pairOf = async (node: string): Promise<CloudTarget['tls']> => {
    const signer = await authority()
    const { der, key } = await requestCertificate(edgeSubject(node))
    const signed = await signer.signNode(der, node as NodeName, Date.now())
    return { ca: signer.ca, cert: new X509Certificate(signed).toString(), key }
  }
  const edge = async (
    node: string,
    {
      nodeId = node,
      store = memoryStore(),
    }: { readonly nodeId?: string; readonly store?: EdgeStore } = {},
  ) => {
    const tls = await pairOf(node)
    const events: EdgeEvent[] = []
    const made = new Edge(
      { node, times: FAST },
      {
        ...{ clock: systemClock, random: systemRandom, store },
        dial: handlers => dialWebsocket({ url, node, nodeId, tls }, handlers),
        onEvent: event => events.push(event),
      },
    )
    const ended = made.run()
    t.teardown(async () => {
      made.kill()
      await ended
    })
    const count = (kind: EdgeEvent['kind']) => events.filter(each => each.kind === kind).length
    return { edge: made, events, count, store }
  }
  return { program, log, ports, url, fetchText, isServing, pairOf, edge, user }
}

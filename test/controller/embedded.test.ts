// SPDX-License-Identifier: Apache-2.0
// The parts of a controller together, on the embedded API.
import t, { type Test } from 'tap'
import { EventRecorder } from '../../controller/event-recorder.js'
import { Informer } from '../../controller/informer.js'
import { LeaderElection } from '../../controller/leader-election.js'
import { deleteExactly } from '../../controller/ownership.js'
import { runController } from '../../controller/program.js'
import { sleep, systemClock } from '../../core/clock.js'
import { systemRandom } from '../../core/random.js'
import { makeResourceClient } from '../../kube/client/http-resource-client.js'
import { parseMetadata, type ObjectMetadata } from '../../kube/client/resource.js'
import { testApi } from '../../testkit/kube/api-client.js'
import { fixedCredentials } from '../../kube/client/fixed-credentials.js'
import { recordingLog } from '../../testkit/recording-log.js'

const MAPS = { group: '', version: 'v1', resource: 'configmaps' }

const bed = async (t: Test) => {
  const test = await testApi()
  const { api, token } = test
  const log = recordingLog()
  const credentials = fixedCredentials({ server: api.url, token })
  const seams = { credentials, clock: systemClock, log, random: systemRandom }
  const client = makeResourceClient(seams, { fieldManager: 'tester' })
  t.teardown(async () => {
    await client.close()
    await api.stop()
  })
  return { client, ask: (request: string, body?: unknown) => test.ask(request, body), ...seams }
}

const name = 'edge-system'

t.test(
  'a controller: it lists, is elected, works, records Events, and gives the Lease back',
  async t => {
    const { ask, ...seams } = await bed(t)
    await ask('POST /api/v1/namespaces', { metadata: { name } })
    const { body } = await ask('POST /api/v1/namespaces/default/configmaps', {
      metadata: { name: 'a', labels: { of: 'x' } },
    })
    const changes: string[] = []
    const informer = new Informer<ObjectMetadata>({
      ...seams,
      resource: MAPS,
      form: 'metadata',
      project: parseMetadata,
      indices: { of: view => [view.labels['of'] ?? ''] },
      onChange: (key, before, after) => {
        changes.push(`${key} ${before?.resourceVersion ?? '-'} ${after?.resourceVersion ?? '-'}`)
      },
    })
    const election = new LeaderElection(seams, { namespace: name, name: 'one', identity: 'me' })
    const events = new EventRecorder(seams, {
      reportingController: 'tester',
      reportingInstance: 'me',
      guard: election.guard,
    })
    const { metadata } = body as { metadata: { uid: string; resourceVersion: string } }
    const regarding = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: 'default',
      name: 'a',
      ...metadata,
    }
    const stop = new AbortController()
    const lead = async (signal: AbortSignal): Promise<void> => {
      t.equal(election.mayWrite(), true)
      t.strictSame(
        informer.byIndex('of', 'x').map(view => view.name),
        ['a'],
      )
      const words = {
        type: 'Normal',
        reason: 'Looked',
        action: 'Look',
        note: 'it is there',
      } as const
      events.record(regarding, words)
      events.record(regarding, words)
      const a = { namespace: 'default', name: 'a', uid: metadata.uid, guard: election.guard }
      const { client } = seams
      t.equal(await deleteExactly(client, MAPS, { ...a, resourceVersion: '1' }, signal), 'changed')
      const exact = { ...a, resourceVersion: metadata.resourceVersion }
      t.equal(await deleteExactly(client, MAPS, exact, signal), 'deleted')
      t.equal(await deleteExactly(client, MAPS, exact, signal), 'gone')
      while (informer.get('default/a') !== undefined) await sleep(systemClock, 20, signal)
      stop.abort()
    }
    const parts = {
      informers: { maps: informer },
      election,
      lead,
      events,
      close: () => seams.client.close(),
    }
    await runController(parts, seams, stop.signal)
    t.equal(changes.length, 2)
    t.equal(election.mayWrite(), false)
    const lease = await ask(`GET /apis/coordination.k8s.io/v1/namespaces/${name}/leases/one`)
    t.match(lease.body, { spec: { leaseTransitions: 0, leaseDurationSeconds: 1 } })
    t.notHas(lease.body['spec'], { holderIdentity: String })
    const answer = await ask('GET /apis/events.k8s.io/v1/namespaces/default/events')
    t.match(answer.body, {
      items: [{ reason: 'Looked', note: 'it is there', regarding: { name: 'a' } }],
    })
  },
)

// SPDX-License-Identifier: Apache-2.0
// A process that stands for election and, while it leads, writes its name into a ConfigMap as fast as it is answered. A line
// on stdin stops it in its tracks, as SIGSTOP does; SIGTERM ends it in order.
import { LeaderElection } from '../../controller/leader-election.js'
import { sleep, systemClock } from '../../core/clock.js'
import { WithheldError } from '../../core/errors.js'
import { silentLog } from '../../core/log.js'
import { systemRandom } from '../../core/random.js'
import { fixedCredentials } from '../../kube/client/fixed-credentials.js'
import { makeResourceClient } from '../../kube/client/http-resource-client.js'
import { metadataOf } from '../../kube/client/resource.js'

const { CANDIDATE = '{}' } = process.env
const { name, id, ...server } = JSON.parse(CANDIDATE) as {
  readonly name: string
  readonly id: string
  readonly server: string
  readonly token: string
  readonly ca?: string
}

const seams = { clock: systemClock, random: systemRandom, log: silentLog }
const credentials = fixedCredentials(server)
const client = makeResourceClient({ credentials, ...seams }, { fieldManager: name })
const times = { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, retryMs: 300 }
const lease = { namespace: 'default', name: `${id}-leader`, identity: name, ...times }
const election = new LeaderElection({ client, ...seams }, lease)
const maps = {
  ...metadataOf({ group: '', version: 'v1', resource: 'configmaps' }),
  isMetadataOnly: false,
}
const of = { namespace: 'default', name: `${id}-journal` }

const lead = async (signal: AbortSignal): Promise<void> => {
  for (let n = 0; await sleep(systemClock, 10, signal); n++) {
    const patch = { type: 'merge', body: { data: { by: name, n: String(n) } } } as const
    try {
      await client.patch(maps, of, { patch, guard: election.guard }, signal)
    } catch (error) {
      if (error instanceof WithheldError) process.stdout.write('withheld\n')
    }
  }
}

const stop = new AbortController()
process.on('SIGTERM', () => stop.abort())
// A turn of its own: no write is between its guard and the kernel.
process.stdin.on('data', () => process.kill(process.pid, 'SIGSTOP')).unref()
await election.run(stop.signal, lead)
await client.close()
process.exit(0)

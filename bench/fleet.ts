// SPDX-License-Identifier: Apache-2.0
// A fleet comes back: who asks a real apiserver what, and how much of it at once, after it was restarted and after an outage.
import { argv } from 'node:process'
import { KUBELETS } from './agent/world/cluster.js'
import { readArguments, say } from './command/arguments.js'
import { figureLines, faultsOf, tableOf } from './fleet/report.js'
import { AS_CLIENTS, runClients } from './fleet/clients.js'
import { prepareFleets } from './fleet/programs.js'
import { measureFleets, PROGRAMS, type ProgramName } from './fleet/run.js'
import { isIsolated, runIsolated } from './wrapper/isolated.js'

const HELP = `usage: npm run bench -- fleet [options]
Clients of the production code, half of them an agent's and half a wrapper's, each with connections and a token of its own,
against a real kube-apiserver with TLS; beside them as many programs with client-go's informers, of the same objects. The
apiserver is killed and started anew, then nothing gets through for a while. An agent follows its zone and has its keys on its
disk, as where nobody is new; it exchanges nothing and judges nobody. Requests are those of the audit log, bytes whole
IP packets. ${KUBELETS} Needs root, Go, iproute2,
iptables and the lab's programs (KUBEBUILDER_ASSETS, or they are built).

  --clients 1000                   of each kind of program
  --only edge-health,client-go     which programs
  --zone 10                        nodes of a zone
  --outage 120                     seconds for which nothing gets through
  --watch 60                       seconds that are looked at after each occasion
  -o json                          the figures as JSON, with the requests of each second

A row per occasion: requests but signs of life; the most of them in one second; the time in which nine tenths came; lists,
of them those of any state (resourceVersion=0), not older than what is known, and the newest there is; watches; how often the
apiserver no longer knew a version, so that a list had to be; lists that were answered and came again, since the answer did not
arrive within the client's 30 s; MB (10⁶ bytes) both ways; CPU of the apiserver beyond what it takes where nobody asks, and
of all clients.
The wrapper's lists of endpoints come in pages, which an apiserver has of the newest state alone.
Exits with 1 when a client of ours listed what a watch could resume, named a version that it was never told, later took any
state, which may be older than what it has seen, or wrote anything; with 2 for a bad argument.
`

if (argv[2] === AS_CLIENTS) runClients()
else {
  const { values, refuse, whole } = readArguments('fleet', HELP, {
    clients: { type: 'string' },
    only: { type: 'string', default: PROGRAMS.join() },
    zone: { type: 'string' },
    outage: { type: 'string' },
    watch: { type: 'string' },
  })
  const only = values.only.split(',')
  const unknown = only.find(name => !PROGRAMS.includes(name as ProgramName))
  if (unknown !== undefined) refuse(`--only must be of ${PROGRAMS.join(', ')}, got ${unknown}`)
  const size = {
    clients: whole('clients', values.clients, 1_000),
    zone: whole('zone', values.zone, 10),
    only: PROGRAMS.filter(name => only.includes(name)),
    outageS: whole('outage', values.outage, 120),
    watchS: whole('watch', values.watch, 60),
  }
  if (!isIsolated)
    process.exit(
      (await runIsolated({ prepare: prepareFleets })) ??
        refuse('needs network namespaces: run it as root'),
    )
  const measured = await measureFleets(size, say)
  const faults = faultsOf(measured)
  const text = [tableOf(measured), ...measured.map(figureLines), ...faults].join('\n')
  process.stdout.write(
    `${values.output === 'json' ? JSON.stringify({ measured, faults }, undefined, 1) : text}\n`,
  )
  process.exit(faults.length === 0 ? 0 : 1)
}

// SPDX-License-Identifier: Apache-2.0
// The shell function of docs/runbook.md, with a kubectl that forwards to a listener of ours.
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeLocalApp } from '../../agent/http/local-routes.js'
import { systemClock } from '../../core/clock.js'
import { freePort } from '../../testkit/free-port.js'
import { openListener } from '../../testkit/http/open-listener.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { FakeViews, nodeFixture } from '../../testkit/zone/status-fixture.js'

const page = readFileSync(join(import.meta.dirname, '../../docs/runbook.md'), 'utf8')
const eh = /```sh\n(eh\(\) \([^]*?\n\)\n)```/.exec(page)?.[1] ?? ''

/** Knows one agent's Pod, and forwards to our listener as `kubectl port-forward` does, after a moment. */
const KUBECTL = `#!${process.execPath}
import net from 'node:net'
const said = process.argv.slice(2).join(' ')
if (/ get pods /.test(said)) {
  if (said.includes('spec.nodeName=node-1')) console.log('pod/edge-health-agent-abcde')
} else {
  const [, from, to] = /port-forward pod\\/edge-health-agent-abcde (\\d+):(\\d+)$/.exec(said)
  if (to !== '51005') process.exit(1)
  const join = socket => {
    const other = net.connect(Number(process.env.AGENT_PORT), '127.0.0.1')
    socket.pipe(other).pipe(socket)
    for (const each of [socket, other]) each.on('error', () => each.destroy())
  }
  setTimeout(() => net.createServer(join).listen(Number(from), '127.0.0.1'), 300)
}
`

t.test('eh asks the agent itself, and starts no second program beside it', async t => {
  t.not(eh, '')
  t.notMatch(page, /\bexec -c edge-health-agent\b/)
  const views = new FakeViews()
  views.details = [{ ...nodeFixture(2), voters: [] }]
  const listener = await openListener(
    makeLocalApp({
      ...{ views, localinfoTime: 'zero', metricsNodes: 'all' },
      ...{ namespace: 'edge-system', clock: systemClock, log: recordingLog() },
    }),
  )
  t.teardown(() => listener.close())
  const folder = t.testdir()
  writeFileSync(join(folder, 'kubectl'), KUBECTL, { mode: 0o755 })
  const run = async (words: string) => {
    const env = {
      PATH: `${folder}:${process.env['PATH'] ?? ''}`,
      AGENT_PORT: String(listener.port),
      EH_PORT: String(await freePort()),
    }
    return new Promise<{ code: number | null; out: string; err: string }>(resolve => {
      const child = spawn('bash', ['-c', `${eh}eh ${words}`], {
        ...{ env, stdio: ['ignore', 'pipe', 'pipe'] },
      })
      let out = ''
      let err = ''
      child.stdout.on('data', text => (out += String(text)))
      child.stderr.on('data', text => (err += String(text)))
      child.on('close', code => resolve({ code, out, err }))
    })
  }
  t.match(await run('node-1 status'), { code: 0, out: /^zone /m, err: '' })
  t.match(await run('node-1 explain node-2'), { code: 0, out: /^node-2 /m, err: '' })
  t.match(await run('node-1 explain nobody'), { code: 0, out: 'no such node in this zone\n' })
  t.match(await run('node-9 status'), { code: 1, out: '', err: 'no agent on node-9\n' })
})

t.test('each command that asks an agent is one that its listener has', t => {
  const asked = [...page.matchAll(/^eh [A-Z]+ (\w+)/gm)].map(([, path]) => path!)
  t.ok(asked.length > 10)
  t.strictSame([...new Set(asked)].sort(), ['explain', 'status'])
  t.end()
})

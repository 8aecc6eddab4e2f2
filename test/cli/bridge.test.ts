// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import t from 'tap'
import { bridgeOptionSet } from '../../bridge/options/definitions.js'
import { lazyCommands } from '../../cli/lazy-commands.js'
import { optionsMarkdown } from '../../cli/options-markdown.js'
import { runCli } from '../../testkit/run-cli.js'

const run = (line: string) => runCli(line.split(' '), { parts: { lazyCommands } })

t.test('--help, --print-config and the page of options', async t => {
  const { code, out } = await run('bridge --help')
  t.equal(code, 0)
  t.match(out.replaceAll(/\s+/g, ' '), /--answer-within <duration> .* \(default 30s\)/)
  const page = readFileSync(new URL('../../docs/bridge-options.md', import.meta.url), 'utf8')
  t.equal(
    page,
    optionsMarkdown(bridgeOptionSet),
    'make it anew: edge-health bridge --options-markdown > docs/bridge-options.md',
  )
  t.equal((await run('bridge --options-markdown')).out, page)
  const printed = await run('bridge --print-config --advertise-address=10.0.0.1,edges.example.com')
  t.match(
    printed.out,
    /^advertise-address: 10\.0\.0\.1,edges\.example\.com +# --advertise-address$/m,
  )
  const none = await run('bridge --kubeconfig /nonexistent')
  t.equal(none.code, 1)
  t.match(none.err, /cannot read the kubeconfig file \/nonexistent/)
})

t.test('a bad option is refused with its rule', async t => {
  const rows: [flags: string, says: RegExp][] = [
    ['--advertise-address=Edges_1', /--advertise-address must be 1 to 16 IP addresses .*"Edges_1"/],
    ['--advertise-address=1.2.3.4,', /--advertise-address must be 1 to 16 IP addresses/],
    ['--answer-within 2m', /--answer-within must be a duration from 5s to 50s .*, got "2m"/],
  ]
  for (const [flags, says] of rows) {
    const { code, out, err } = await run(`bridge ${flags}`)
    t.strictSame([code, out], [2, ''], flags)
    t.match(err, says)
  }
})

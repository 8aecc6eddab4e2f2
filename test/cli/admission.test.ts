// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { admissionOptionSet } from '../../admission/options/definitions.js'
import { resolveAdmissionOptions } from '../../admission/options/resolve.js'
import { explainNode } from '../../admission/model/explain.js'
import { lazyCommands } from '../../cli/lazy-commands.js'
import { optionsMarkdown } from '../../cli/options-markdown.js'
import { knowing, STAMP } from '../../testkit/admission/reviews.js'
import { runCli } from '../../testkit/run-cli.js'

const run = (line: string) => runCli(line.split(' '), { parts: { lazyCommands } })
const resolve = (flags: Record<string, string>) =>
  resolveAdmissionOptions({
    flags: Object.entries(flags).map(([name, text]) => ({ name, text })),
    env: {},
  })

t.test('--help, --print-config and the page of options', async t => {
  const { code, out } = await run('admission --help')
  t.equal(code, 0)
  t.match(out.replaceAll(/\s+/g, ' '), /--fresh-for <duration> how old .* \(default 30s\)/)
  const page = readFileSync(new URL('../../docs/admission-options.md', import.meta.url), 'utf8')
  t.equal(
    page,
    optionsMarkdown(admissionOptionSet),
    'make it anew: edge-health admission --options-markdown > docs/admission-options.md',
  )
  t.equal((await run('admission --options-markdown')).out, page)
  const none = await run('admission --kubeconfig /nonexistent')
  t.equal(none.code, 1)
  t.match(none.err, /cannot read the kubeconfig file \/nonexistent/)
})

t.test("SuperEdge's flags do what they say", async t => {
  const { out } = await run(
    'admission --print-config --alsologtostderr --v=4 --masterurl=http://127.0.0.1:1 --adminssion-control-listen-addr=:8443 ' +
      '--admission-control-server-cert=c.pem --admission-control-server-key=k.pem --mode superedge --always-reachable',
  )
  for (const line of [
    /^master-url: http:\/\/127\.0\.0\.1:1 +# --masterurl$/m,
    /^listen-address: 0\.0\.0\.0:8443 +# --adminssion-control-listen-addr$/m,
    /^cert-file: c\.pem/m,
    /^key-file: k\.pem/m,
    /^always-reachable: "true"/m,
    /^log-level: debug +# --v$/m,
  ])
    t.match(out, line)
  t.match(resolve({ 'listen-address': '[::]:8443' }).options.listenAddress, { host: '::' })
  t.end()
})

t.test('options that contradict each other', async t => {
  const rows: [flags: string, says: RegExp][] = [
    ['--always-reachable', /--always-reachable must be false unless --mode is superedge, got true/],
    ['--cert-file c.pem', /--key-file must be given with --cert-file/],
    ['--key-file k.pem', /--cert-file must be given with --key-file/],
    ['--listen-address localhost', /must be an IP address and a port such as 0\.0\.0\.0:8443/],
    ['--fresh-for 1h', /--fresh-for must be a duration from 5s to 10m .*, got "1h"/],
  ]
  for (const [flags, says] of rows) {
    const { code, out, err } = await run(`admission ${flags}`)
    t.strictSame([code, out], [2, ''], flags)
    t.match(err, says)
  }
})

t.test('explain', async t => {
  const known = { ...knowing([{}, { name: 'n2', ready: '' }]), now: STAMP }
  const server = createServer((request, response) => {
    const name = new URL(request.url ?? '', 'http://x').searchParams.get('node') ?? ''
    response.end(JSON.stringify(explainNode(name, known)))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const ask = (more: string) =>
    run(`admission explain --admission http://127.0.0.1:${port} ${more}`)
  t.match(await ask('n1'), {
    code: 0,
    out: 'n1 is kept: the control plane does not hear it, and its peers vouch for it\n  Ready Unknown\n  vouched for 5 s ago\n',
  })
  t.match((await ask('n2')).out, /^n2 is not kept: .*\n {2}Ready was never reported\n/)
  t.match((await ask('n9')).out, 'n9 is not kept: there is no Node of this name\n')
  t.match(JSON.parse((await ask('n1 -o json')).out), { name: 'n1', isKept: true })
  const nobody = await run('admission explain --admission http://127.0.0.1:1 n1')
  t.match(nobody, { code: 3, err: /no admission answers at http:\/\/127\.0\.0\.1:1/ })
})

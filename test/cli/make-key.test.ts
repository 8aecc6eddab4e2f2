// SPDX-License-Identifier: Apache-2.0
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseKeyRing } from '../../agent/key-ring.js'
import { lazyCommands } from '../../cli/lazy-commands.js'
import { kubeconfigText } from '../../sandbox/zone-objects.js'
import { testApi } from '../../testkit/kube/api-client.js'
import { runCli } from '../../testkit/run-cli.js'

/** A hang, not a measurement. */
t.setTimeout(900_000)

const SECRETS = '/api/v1/namespaces/edge-system/secrets'

const open = async (t: Test) => {
  const bed = await testApi()
  t.teardown(() => bed.api.stop())
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'edge-system' } }
  await bed.ask('POST /api/v1/namespaces', namespace)
  const kubeconfig = join(t.testdir(), 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(bed.api.url, 'job', bed.api.addClient('job')))
  const run = (line: string) =>
    runCli(line.split(' '), { env: { KUBECONFIG: kubeconfig }, parts: { lazyCommands } })
  return { bed, run }
}

t.test('it makes a key that agents take, once, and reads none', async t => {
  const { bed, run } = await open(t)
  const first = await run('make-key')
  t.strictSame(first, {
    ...{ code: 0, err: '', out: 'Secret edge-system/edge-health-keys was made\n' },
  })
  const { body } = await bed.ask(`GET ${SECRETS}/edge-health-keys`)
  t.match(body, { type: 'Opaque', metadata: { labels: { 'app.kubernetes.io/part-of': 'edge-health' } } }) // prettier-ignore
  const { primary } = body['data'] as { primary: string }
  const key = Buffer.from(primary, 'base64').toString()
  t.equal(Buffer.from(key, 'base64').length, 32)
  t.equal(parseKeyRing({ secret: { primary: key }, hmacConfig: undefined }).keys.length, 1)

  const again = await run('make-key')
  t.equal(again.code, 0)
  t.match(again.out, 'edge-system/edge-health-keys is there already and was left as it is')
  t.strictSame((await bed.ask(`GET ${SECRETS}/edge-health-keys`)).body, body)
  t.notMatch(first.out + again.out, key, 'no key is shown')

  t.match((await run('make-key --secret other -n edge-system')).out, 'edge-system/other was made')
  const other = (await bed.ask(`GET ${SECRETS}/other`)).body['data'] as { primary: string }
  t.not(other.primary, primary, 'another one each time')
  const verbs = bed.api.requests.filter(({ client }) => client === 'job')
  t.strictSame([...new Set(verbs.map(({ verb, resource }) => `${verb} ${resource}`))], ['create secrets']) // prettier-ignore
})

t.test('what it says when it cannot', async t => {
  const { run } = await open(t)
  const bad = await run('make-key --secret Not_A_Name')
  t.equal(bad.code, 2)
  t.match(bad.err, /^edge-health: --secret must be a Kubernetes object name .*, got "Not_A_Name"/)
  t.match((await run('make-key -n a/b')).err, /^edge-health: --namespace must be .*, got "a\/b"/)
  const elsewhere = await run('make-key -n nowhere')
  t.equal(elsewhere.code, 1)
  t.match(elsewhere.err, /^edge-health: Secret nowhere\/edge-health-keys cannot be made: .*nowhere/)
  const away = await run('make-key --master-url http://127.0.0.1:9')
  t.equal(away.code, 3)
  t.match(away.err, /^edge-health: Secret edge-system\/edge-health-keys cannot be made: /)
  const nowhere = await run('make-key --kubeconfig /nonexistent')
  t.equal(nowhere.code, 3, 'nobody was asked')
  t.match(nowhere.err, /cannot be made: cannot read the kubeconfig file \/nonexistent/)
  t.equal((await run('make-key --key abc')).code, 2)
})

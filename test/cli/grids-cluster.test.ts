// SPDX-License-Identifier: Apache-2.0
import { createServer, request } from 'node:http'
import t, { type Test } from 'tap'
import { lazyCommands } from '../../cli/lazy-commands.js'
import { kubeconfigText } from '../../sandbox/zone-objects.js'
import { startGridApi } from '../../testkit/kube/grid-api.js'
import { deploymentGrid, serviceGrid, template } from '../../testkit/kube/grid-objects.js'
import { GridStage } from '../../testkit/kube/grid-stage.js'
import { runCli } from '../../testkit/run-cli.js'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

t.setTimeout(180_000)

/** Where the same API can be read, and refuses all writes. */
const withoutWrites = async (t: Test, url: string): Promise<string> => {
  const proxy = createServer((asked, answer) => {
    const { method, headers, url: path } = asked
    if (method !== 'GET') {
      answer.writeHead(403, { 'Content-Type': 'application/json' })
      answer.end(JSON.stringify({ kind: 'Status', code: 403, message: 'this user may not' }))
      return
    }
    asked.pipe(
      request(url + path!, { method, headers }, from => {
        answer.writeHead(from.statusCode!, from.headers)
        from.pipe(answer)
      }),
    )
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return `http://127.0.0.1:${(proxy.address() as { port: number }).port}`
}

t.test('grids of a cluster: plan, --once, explain', async t => {
  const { api, server, createSystemNamespace } = await startGridApi(t)
  const stage = new GridStage(server, 'shop')
  t.teardown(() => stage.close())
  await createSystemNamespace()
  await stage.open()
  await stage.node('n1', 'north')
  await stage.node('n2', 'south')
  await stage.make(deploymentGrid('web'))
  await stage.make(serviceGrid('web'))
  const kubeconfig = join(t.testdir(), 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(api.url, 'cli', api.addClient('cli')))
  const env = { KUBECONFIG: kubeconfig }
  const run = (line: string) => runCli(line.split(' '), { env, parts: { lazyCommands } })

  const all = await run('grids plan --all')
  t.equal(all.code, 3)
  t.match(
    all.out,
    /^DeploymentGrid shop\/web: 2 writes\nDeployment web-north: create\n {2}\+ apiVersion: apps\/v1\n/m,
  )
  t.match(all.out, /^ServiceGrid shop\/web: 1 write\n/m)
  const json = await run('grids plan dg/web -n shop -o json')
  t.equal(json.code, 3)
  t.match(JSON.parse(json.out), [
    {
      grid: 'DeploymentGrid shop/web',
      operations: [
        {
          object: 'Deployment web-north',
          does: 'apply',
          unit: 'north',
          creates: { kind: 'Deployment' },
        },
        { object: 'Deployment web-south' },
      ],
    },
  ])
  t.match(await stage.names('Deployment'), [], 'nothing is written')

  const once = await run(`grids --once --kubeconfig ${kubeconfig} --log-level error`)
  t.strictSame([once.code, once.out], [0, ''], once.err)
  t.strictSame(await stage.names('Deployment'), ['web-north', 'web-south'])
  t.strictSame((await run('grids plan --all')).code, 0, 'nothing is left to write')
  t.match((await run('grids plan web -n shop')).out, /DeploymentGrid shop\/web: nothing to write\n/)

  await stage.scale('Deployment', 'web-north', 7)
  const drifted = await run('grids plan deploymentgrids/web -n shop')
  t.equal(drifted.code, 3)
  t.match(
    drifted.out,
    /Deployment web-north: update \(.*spec\.replicas\)\n {2}- spec\.replicas: 7\n {2}\+ spec\.replicas: 2\n/,
  )
  const explained = await run('grids explain dg/web -n shop')
  t.equal(explained.code, 0)
  t.match(explained.out, /2 units, values of the node label site-shop\n/)
  t.match(explained.out, /north +Deployment web-north +differs.* +update \(/)
  t.match(explained.out, /south +Deployment web-south +as wanted, not ready\n/)
  const taken = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'other-svc' } }
  await stage.make({ ...taken, spec: { ports: [{ port: 1 }] } })
  await stage.make(serviceGrid('other'))
  const refused = await run('grids explain other -n shop')
  t.equal(refused.code, 1)
  t.match(refused.out, /\(all\) +Service other-svc +not recognized as ours +NameTaken: /)
  const again = await run(`grids --once --kubeconfig ${kubeconfig} --log-level error`)
  t.strictSame([again.code, again.out], [1, 'ServiceGrid shop/other is not as wanted\n'])

  await stage.make(deploymentGrid('bad', { template: { ...template(), selector: {} } }))
  const bad = await run('grids plan bad -n shop')
  t.equal(bad.code, 1, 'what the apiserver would refuse is known before anything is written')
  t.match(bad.out, /\nunit north: Refused: .*selector/)
  await stage.scale('Deployment', 'web-north', 7)
  const readOnly = await withoutWrites(t, api.url)
  const compared = await run(`grids plan dg/web -n shop --master-url ${readOnly}`)
  t.equal(compared.code, 3)
  t.match(compared.out, /\nnot checked by the apiserver, only compared here: .*may not\n/)
  t.match(compared.out, /Deployment web-north: update/)

  const rows: [line: string, message: RegExp][] = [
    ['grids plan', /^edge-health: GRID or --all must be given, and not both\n$/],
    ['grids plan web --all', /^edge-health: GRID or --all must be given/],
    [
      'grids plan wev -n shop',
      /GRID must be one of the 4 grids of namespace shop \(did you mean web\?\)/,
    ],
    ['grids explain pod/web', /GRID must be KIND\/NAME with a kind of ServiceGrid, /],
    ['grids explain web --unit-grace 5', /--unit-grace must be a duration/],
  ]
  for (const [line, message] of rows) {
    const { code, out, err } = await run(line)
    t.strictSame([code, out], [2, ''], line)
    t.match(err, message, line)
  }
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { decideGrid } from '../../../grids/model/decide.js'
import { changesOf } from '../../../grids/model/difference.js'
import type { LiveChild } from '../../../grids/model/live.js'
import { deploymentGrid, planOne, serviceGrid, sites } from '../../../testkit/kube/grid-objects.js'
import { applied } from '../live-objects.js'

const changes = (plan: ReturnType<typeof planOne>, lives: readonly LiveChild[]) =>
  decideGrid({ plan, lives, now: 0, graceMs: 0 }).operations.map(operation =>
    changesOf(operation).map(({ path, before, after }) => [path, before, after]),
  )

t.test('which fields a write would change', t => {
  const old = planOne(deploymentGrid('web'), sites('north')).children[0]!
  const template = (image: string, replicas: number) => ({
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image, args: ['-v'] }] },
    },
  })
  const next = planOne(deploymentGrid('web', { template: template('nginx:2', 3) }), sites('north'))
  const found = changes(next, [applied(old)])[0]!
  const at = 'spec.template.spec.containers[name=web]'
  t.strictSame(
    found.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    [
      ['spec.replicas', 2, 3],
      [`${at}.args`, undefined, ['-v']],
      [`${at}.image`, 'nginx:1', 'nginx:2'],
    ],
  )
  t.strictSame(changes(next, []), [[]], 'of what is new all is new')
  const gone = planOne(deploymentGrid('web'), sites('south'))
  const marked = changes(gone, [applied(gone.children[0]!), applied(old)])
  t.strictSame(marked, [[]], 'a mark changes nothing that is wanted')
  t.end()
})

t.test('a field that is ours and not wanted any more', t => {
  const labels = { team: 'shop' }
  const before = planOne(deploymentGrid('web', {}, { labels }), sites('north')).children[0]!
  const after = planOne(deploymentGrid('web'), sites('north'))
  t.strictSame(changes(after, [applied(before)]), [[['metadata.labels.team', 'ours', undefined]]])
  t.end()
})

t.test('lists by their keys, and by their places', t => {
  const service = (spec: object) => planOne(serviceGrid('web', { template: spec }), [])
  const ports = [
    { port: 80, protocol: 'TCP' },
    { port: 81, protocol: 'TCP' },
  ]
  const old = service({ ports, externalIPs: ['1.1.1.1'], selector: { app: 'web' } }).children[0]!
  const next = service({
    ports: [{ port: 81, protocol: 'UDP' }],
    externalIPs: ['2.2.2.2'],
    selector: { app: 'web' },
  })
  const [found = []] = changes(next, [applied(old)])
  t.strictSame(found.slice(0, 2), [
    ['spec.ports[port=81].protocol', 'TCP', 'UDP'],
    ['spec.externalIPs[0]', '1.1.1.1', '2.2.2.2'],
  ])
  const odd = service({ ports, externalIPs: [{ odd: 1 }], selector: { app: 'web' } })
  t.strictSame(changes(odd, [applied(old)])[0]?.[0], ['spec.externalIPs[0]', '1.1.1.1', { odd: 1 }])
  t.end()
})

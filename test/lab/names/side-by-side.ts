// SPDX-License-Identifier: Apache-2.0
// SuperEdge's objects and ours in one namespace of a real apiserver: neither changes the other, and either can go.
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { readManifests } from '../../../testkit/deploy/manifests.js'
import { earlierObjects } from '../../../testkit/deploy/move.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import type { Claims } from './claims.js'
import { Installed, writeKustomization } from './installed.js'

/** The zones' ConfigMap is SuperEdge's where SuperEdge is. */
const COMBINATIONS = [[], ['fast'], ['beside-superedge']] as const

/** Objects as they are, and what their account may do. */
const stateOf = async (installed: Installed) => ({
  objects: await installed.look(),
  rights: await installed.rights(),
})

/** Do something, and claim that what is installed is then as it was. */
const untouched = async (
  { claims, what }: { claims: Claims; what: string },
  installed: Installed,
  act: () => Promise<void>,
): Promise<void> => {
  const before = await stateOf(installed)
  await act()
  const after = await stateOf(installed)
  const count = Object.keys(before.objects).length
  claims.equal(`${what}: ${count} objects have their uid and version`, after.objects, before.objects) // prettier-ignore
  claims.equal(
    `${what}: its account's "auth can-i --list" is the same`,
    after.rights,
    before.rights,
  )
}

export const runSideBySide = async (plane: ControlPlane, claims: Claims): Promise<void> => {
  const file = 'testkit/deploy/superedge-objects.yaml'
  const superedge = new Installed(plane, ['-f', file], 'edge-health')
  const folder = join(plane.dir, 'names')
  const mine = (components: readonly string[]): Installed =>
    new Installed(plane, ['-k', writeKustomization(folder, components)], 'edge-health-agent')

  await plane.kubectl(['create', 'namespace', 'edge-system'])
  await superedge.apply()
  const namespace = ['apply', '-k', 'deploy/components/namespace']
  for (const components of COMBINATIONS) {
    const ours = mine(components)
    const what = `SuperEdge, when ${['the base', ...components].join(' with ')} is applied`
    await untouched({ claims, what }, superedge, async () => {
      await plane.kubectl(namespace)
      await ours.apply()
    })
  }
  const ours = mine(COMBINATIONS.at(-1)!)
  for (const [what, verb, part, wanted] of [
    ['SuperEdge’s agent may update nodes, ours may not', 'update', '', [true, false]],
    ['SuperEdge’s may get nodes/proxy, ours may not', 'get', 'proxy', [true, false]],
    ['ours may patch nodes/status, SuperEdge’s may not', 'patch', 'status', [false, true]],
  ] as const) {
    const may = [superedge, ours].map(each => each.may(verb, 'nodes', part))
    claims.equal(what, await Promise.all(may), wanted)
  }
  await untouched({ claims, what: 'ours, when SuperEdge’s are deleted' }, ours, () =>
    superedge.delete(),
  )
  claims.equal('nothing of SuperEdge’s is left then', await superedge.left(), [])
  await untouched({ claims, what: 'ours, when SuperEdge’s are applied' }, ours, () =>
    superedge.apply(),
  )
  await untouched({ claims, what: 'SuperEdge, when ours are deleted' }, superedge, () =>
    ours.delete(),
  )
  claims.equal('nothing of ours is left then', await ours.left(), [])

  // That these claims can fail: the names of earlier versions are SuperEdge's.
  const before = await superedge.rights()
  const earlier = earlierObjects(readManifests('deploy/base'))
  const items = earlier.filter(({ kind }) => kind !== 'DaemonSet')
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await plane.kubectl(['apply', '-f', '-'], list)
  const isSame = isDeepStrictEqual(await superedge.rights(), before)
  claims.holds('the names of earlier versions do change SuperEdge’s rights', !isSame)
  await superedge.delete()
}

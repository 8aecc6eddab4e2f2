// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { KINDS, objectTypeOf } from '../../../../bridge/model/resource/kinds.js'
import {
  objectKey,
  parseResource,
  resourceText,
  wireResource,
} from '../../../../bridge/model/resource/resource.js'
import { InvalidInputError } from '../../../../core/errors.js'
import { parseNodeName } from '../../../../core/ids.js'
import fc from '../../../../testkit/properties.js'

const node = parseNodeName('shop-1')
const of = (namespace: string, type: string, name: string) => ({ node, namespace, type, name })

t.test('resource strings and what they mean', t => {
  const rows: [claim: string, text: string, is: ReturnType<typeof of>, wire: string][] = [
    ['a pod', 'default/pod/web', of('default', 'pod', 'web'), 'default/pod/web'],
    [
      'with its node',
      'node/shop-1/default/pod/web',
      of('default', 'pod', 'web'),
      'default/pod/web',
    ],
    [
      "another's node: the connection counts",
      'node/other/default/pod/web',
      of('default', 'pod', 'web'),
      'default/pod/web',
    ],
    ['no name', 'default/pod', of('default', 'pod', ''), 'default/pod'],
    ['no name, with its node', 'node/shop-1/default/pod', of('default', 'pod', ''), 'default/pod'],
    ['a namespace that is named node', 'node/pod/web', of('node', 'pod', 'web'), 'node/pod/web'],
    ['a node', 'null/node/shop-1', of('', 'node', 'shop-1'), 'null/node/shop-1'],
    ['up to 1.22', 'default/node/shop-1', of('', 'node', 'shop-1'), 'null/node/shop-1'],
    [
      'its patches',
      'null/nodepatch/shop-1',
      of('', 'nodepatch', 'shop-1'),
      'null/nodepatch/shop-1',
    ],
    [
      'a volume',
      'namespace/persistentvolume/pv-1',
      of('', 'persistentvolume', 'pv-1'),
      'null/persistentvolume/pv-1',
    ],
    [
      'a Lease',
      'kube-node-lease/lease/shop-1',
      of('kube-node-lease', 'lease', 'shop-1'),
      'kube-node-lease/lease/shop-1',
    ],
    [
      'dots',
      'default/configmap/kube-root-ca.crt',
      of('default', 'configmap', 'kube-root-ca.crt'),
      'default/configmap/kube-root-ca.crt',
    ],
    ['a type that is not ours', 'default/other/x', of('default', 'other', 'x'), 'default/other/x'],
    ['no namespace', 'null/other/x', of('', 'other', 'x'), 'null/other/x'],
  ]
  for (const [claim, text, is, wire] of rows) {
    t.strictSame(parseResource(text, node), is, claim)
    t.equal(wireResource(is), wire, claim)
    t.equal(resourceText(is), `node/shop-1/${wire}`, claim)
  }
  t.end()
})

t.test('what is none', t => {
  const rows: [claim: string, text: string, message: string][] = [
    ['nothing', '', 'resource must be <namespace>/<type>/<name>, got ""'],
    ['one word', 'node', 'resource must be <namespace>/<type>/<name>, got "node"'],
    ['too many', 'a/b/c/d', 'resource must be <namespace>/<type>/<name>, got "a/b/c/d"'],
    [
      'too many behind a node',
      'node/n/a/b/c/d',
      'resource must be <namespace>/<type>/<name>, got "node/n/a/b/c/d"',
    ],
    [
      'a way out',
      'default/secret/..',
      'resource default/secret/..: name must be a name as the API allows it, got ".."',
    ],
    [
      'an empty name',
      'default/pod/',
      'resource default/pod/: name must be a name as the API allows it, got ""',
    ],
    [
      'an empty namespace',
      '/pod/web',
      'resource /pod/web: namespace must be a name as the API allows it, got ""',
    ],
    [
      'an escape',
      'a%2fb/pod/x',
      'resource a%2fb/pod/x: namespace must be a name as the API allows it, got "a%2fb"',
    ],
    [
      'a query',
      'a/pod/x?y',
      'resource a/pod/x?y: name must be a name as the API allows it, got "x?y"',
    ],
    [
      'a type with capitals',
      'ignore/Application/ignore',
      'resource ignore/Application/ignore: type must be a name as the API allows it, got "Application"',
    ],
  ]
  for (const [claim, text, message] of rows)
    t.throws(() => parseResource(text, node), { message, code: 'INVALID_INPUT' }, claim)
  t.throws(() => parseResource(`default/pod/${'a'.repeat(254)}`, node), InvalidInputError)
  t.throws(() => parseResource(`${'a'.repeat(64)}/pod/a`, node), InvalidInputError)
  t.end()
})

t.test('messages about one object have one key', t => {
  t.equal(objectKey(of('default', 'podpatch', 'web')), 'pod default/web')
  t.equal(objectKey(of('default', 'pod', 'web')), 'pod default/web')
  t.equal(objectKey(of('', 'nodepatch', 'n')), objectKey(of('', 'node', 'n')))
  t.equal(objectKey(of('a', 'toString', 'n')), 'toString a/n')
  t.end()
})

t.test('kinds', t => {
  t.match(KINDS.lease, {
    apiVersion: 'coordination.k8s.io/v1',
    plural: 'leases',
    isNamespaced: true,
  })
  t.match(KINDS.pod, { apiVersion: 'v1', kind: 'Pod', group: '', version: 'v1' })
  const rows: [type: string, is: string | undefined][] = [
    ['pod', 'pod'],
    ['podpatch', 'pod'],
    ['nodepatch', 'node'],
    ['constructor', undefined],
    ['podlist', undefined],
  ]
  for (const [type, is] of rows) t.equal(objectTypeOf(type), is, type)
  t.end()
})

t.test('what is built is cut into the same parts', t => {
  const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?$/)
  const label = fc
    .stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/)
    .filter(word => word !== 'null')
  const resource = fc
    .tuple(label, fc.constantFrom('pod', 'secret', 'node', 'podpatch', 'odd'), fc.option(name))
    .map(([space, type, name]) => of(type === 'node' ? '' : space, type, name ?? ''))
  fc.assert(
    fc.property(resource, is => {
      t.strictSame(parseResource(wireResource(is), node), is)
      t.strictSame(parseResource(resourceText(is), node), is)
    }),
  )
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('a', '/', '.', '-', '%') })),
      text => {
        try {
          const { namespace, name } = parseResource(text, node)
          return !/[/%?#]|^\.+$/.test(namespace) && !/[/%?#]|^\.+$/.test(name)
        } catch (error) {
          return error instanceof InvalidInputError
        }
      },
    ),
    { numRuns: 1000 },
  )
  t.end()
})

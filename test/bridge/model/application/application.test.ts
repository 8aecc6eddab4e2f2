// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { parseApplication } from '../../../../bridge/model/application/application.js'

const bytes = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')

const NODES = { group: '', version: 'v1', resource: 'nodes', namespace: '' }
const EVERYTHING = { labelSelector: '', fieldSelector: '', resourceVersion: '', limit: 0, next: '' }

const patch = (more: object = {}, options: object = {}): object => ({
  ...{ Key: '/core/v1/nodes/null/e2', Verb: 'patch' },
  Option: bytes({
    Name: 'e2',
    PatchType: 'application/merge-patch+json',
    Data: bytes({ metadata: { labels: null } }),
    Options: { fieldManager: 'x' },
    Subresources: [''],
    ...options,
  }),
  ...more,
})

t.test('what a MetaServer passes on', t => {
  const rows: [title: string, content: unknown, application: object][] = [
    [
      'one object',
      { ID: 'a', Key: '/core/v1/nodes/null/e2', Verb: 'get', Option: bytes({}), Nodename: 'other' },
      { id: 'a', target: { ...NODES, name: 'e2' }, ask: { verb: 'get' } },
    ],
    [
      'all objects of a kind, with what the list is to be',
      {
        Key: '/core/v1/nodes',
        Verb: 'list',
        Option: bytes({ labelSelector: 'zone=a', resourceVersion: '0', limit: 5, continue: 'c' }),
      },
      {
        id: '',
        target: { ...NODES, name: '' },
        ask: {
          verb: 'list',
          listing: { ...EVERYTHING, labelSelector: 'zone=a', resourceVersion: '0', limit: 5, next: 'c' },
        },
      },
    ],
    [
      'a watch of one name, which its key has as well',
      {
        Key: '/core/v1/secrets/edge-system/keys',
        Verb: 'watch',
        Option: bytes({ fieldSelector: 'metadata.name=keys', watch: true }),
      },
      {
        target: { resource: 'secrets', namespace: 'edge-system', name: 'keys' },
        ask: { verb: 'watch', listing: EVERYTHING },
      },
    ],
    [
      'a list of one name, which its selector alone has',
      {
        Key: '/core/v1/configmaps/edge-system',
        Verb: 'list',
        Option: bytes({ fieldSelector: 'metadata.name==zones' }),
      },
      { target: { name: 'zones' }, ask: { listing: { fieldSelector: '' } } },
    ],
    [
      'another selector of fields stays',
      { Key: '/core/v1/nodes', Verb: 'list', Option: bytes({ fieldSelector: 'spec.x=y' }) },
      { target: { name: '' }, ask: { listing: { fieldSelector: 'spec.x=y' } } },
    ],
    [
      'a new object; what has no options has none',
      {
        ...{ Key: '/events.k8s.io/v1/events/default', Verb: 'create', Option: null },
        ReqBody: bytes({ metadata: { name: 'x' } }),
      },
      {
        target: { group: 'events.k8s.io', version: 'v1', resource: 'events', namespace: 'default' },
        ask: { verb: 'create', body: { metadata: { name: 'x' } } },
      },
    ],
    [
      'a patch, as it came',
      patch(),
      {
        target: { ...NODES, name: 'e2' },
        ask: {
          ...{ verb: 'patch', type: 'merge', text: '{"metadata":{"labels":null}}' },
          ...{ value: { metadata: { labels: null } }, subresource: '', isDryRun: false },
        },
      },
    ],
    [
      'a dry run of operations on a status',
      patch(
        { Subresource: 'status' },
        {
          PatchType: 'application/json-patch+json',
          Data: bytes([{ op: 'test', path: '/a' }]),
          Options: { dryRun: ['All'] },
          Subresources: ['status'],
        },
      ),
      { ask: { type: 'json', value: [{ op: 'test' }], subresource: 'status', isDryRun: true } },
    ],
    [
      'a patch without options and subresources',
      patch({}, { Options: null, Subresources: undefined, PatchType: 'application/strategic-merge-patch+json' }),
      { ask: { type: 'strategic-merge', isDryRun: false } },
    ],
    ['as text', JSON.stringify({ Key: '/core/v1/nodes', Verb: 'list' }), { ask: { verb: 'list' } }],
  ] // prettier-ignore
  for (const [title, content, application] of rows)
    t.match(parseApplication(content), application, title)
  t.end()
})

t.test('what is none is refused, and named', t => {
  const get = { Key: '/core/v1/nodes/null/e2', Verb: 'get' }
  const rows: [title: string, content: unknown, error: RegExp][] = [
    ['no object', 7, /^Application must be an object/],
    ['no key', { Verb: 'get' }, /Key must be \/<group>/],
    ['a key that is none', { ...get, Key: 'core/v1/nodes' }, /Key must be/],
    ['a key that is too short', { ...get, Key: '/core/v1' }, /Key must be/],
    ['a key that is too long', { ...get, Key: '/core/v1/nodes/null/e2/status' }, /Key must be/],
    ['a path in a key', { ...get, Key: '/core/v1/nodes/null/..' }, /Key must be/],
    ['a key that is no text', { ...get, Key: 7 }, /Key must be text/],
    ['a key of any length', { ...get, Key: `/${'a'.repeat(3_000)}` }, /Key must be at most 2048/],
    ['no name', { ...get, Key: '/core/v1/nodes' }, /Key must name an object/],
    ['a patch without a name', patch({ Key: '/core/v1/nodes' }), /Key must name an object/],
    ['another verb', { ...get, Verb: 'delete' }, /Verb must be create, get/],
    ['a subresource', { ...get, Subresource: 'proxy' }, /Subresource must be empty/],
    ['options that are none', { ...get, Option: '!' }, /Option must be an object/],
    [
      'two names',
      { Key: '/core/v1/nodes/null/e1', Verb: 'list', Option: { fieldSelector: 'metadata.name=e2' } },
      /Key must name e2 as its options do/,
    ],
    ['a limit that is none', { ...get, Verb: 'list', Option: { limit: 'x' } }, /limit must be.*string/],
    ['a limit of any size', { ...get, Verb: 'list', Option: { limit: 1e9 } }, /limit must be/],
    ['a limit below none', { ...get, Verb: 'list', Option: { limit: -1 } }, /limit must be/],
    ['another kind of patch', patch({}, { PatchType: 'application/apply-patch+yaml' }), /PatchType/],
    ['the patch of another object', patch({}, { Name: 'e3' }), /Name must be the name in its Key/],
    ['another subresource', patch({}, { Subresources: ['status'] }), /Subresources must be/],
    ['subresources that are none', patch({}, { Subresources: 'x' }), /Subresources must be/],
    ['a patch of nothing', patch({}, { Data: undefined }), /Data must be/],
    ['a patch that is none', patch({}, { Data: '' }), /Data must be/],
    ['a patch that is no JSON', patch({}, { Data: '{' }), /Data must be JSON/],
  ] // prettier-ignore
  for (const [title, content, message] of rows)
    t.throws(() => parseApplication(content), { message }, title)
  t.end()
})

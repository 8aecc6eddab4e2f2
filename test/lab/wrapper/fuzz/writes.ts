// SPDX-License-Identifier: Apache-2.0
import type { Random } from '../../../../core/random.js'
import {
  drawName,
  drawObject,
  KINDS,
  pick,
  RESOURCES,
  statusOf,
  withLongNumbers,
} from './objects.js'
import type { RawCall } from './raw-call.js'
import { drawHeaders, objectPath, withQuery } from './reads.js'
import { JSON_TYPE, maybe, type Rewrite, type Step } from './step.js'

const BODIES = [
  '',
  '{',
  '[]',
  'null',
  '{"kind":"Service"}',
  '\u0000\u0001',
  'k8s\u0000garbage',
  '{"metadata":{"resourceVersion":"7"}}',
]

const PATCHES = [
  ['application/merge-patch+json', '{"metadata":{"labels":{"patched":"NUMBER"}}}'],
  ['application/merge-patch+json', '{"metadata":{"annotations":null}}'],
  ['application/strategic-merge-patch+json', '{"metadata":{"labels":{"patched":"NUMBER"}}}'],
  [
    'application/json-patch+json',
    '[{"op":"add","path":"/metadata/labels/patched","value":"NUMBER"}]',
  ],
  ['application/json-patch+json', '[{"op":"test","path":"/metadata/name","value":"none"}]'],
  ['application/merge-patch+json', '{"metadata":{"resourceVersion":"1"}}'],
  ['application/merge-patch+json', '{'],
  ['text/plain', 'x'],
] as const

export const drawWrite = (random: Random): Step => {
  const resource = pick(random, RESOURCES)
  const name = drawName(random, resource)
  const text = withLongNumbers(JSON.stringify(drawObject(random, resource, name)))
  const type = (value: string): [string, string] => ['Content-Type', value]
  const headers = drawHeaders(random)
  const dryRun = maybe(random, 10) ? 'dryRun=All' : ''
  const collection = KINDS[resource].path
  const path = objectPath(resource, name)
  const step = (what: string, call: RawCall): Step => ({
    kind: 'call',
    what: `${what} ${resource}`,
    call,
  })
  const draw = random.below(100)
  if (draw < 40) {
    const body = maybe(random, 5) ? pick(random, BODIES) : text
    const call = { method: 'POST', target: withQuery(collection, dryRun), body }
    return step('create', { ...call, headers: [...headers, type(JSON_TYPE)] })
  }
  if (draw < 50) {
    const target = withQuery(path, dryRun)
    return step('put without version', {
      method: 'PUT',
      target,
      headers: [...headers, type(JSON_TYPE)],
      body: text,
    })
  }
  if (draw < 60 && resource === 'nodes') {
    const { apiVersion, kind } = KINDS[resource]
    const status = JSON.stringify({
      apiVersion,
      kind,
      metadata: { name },
      status: statusOf(random),
    })
    const call = { method: 'PATCH', target: `${path}/status`, body: withLongNumbers(status) }
    return step('status of', {
      ...call,
      headers: [...headers, type('application/strategic-merge-patch+json')],
    })
  }
  if (draw < 70) {
    const target = `${path}?fieldManager=fuzz${maybe(random, 50) ? '&force=true' : ''}`
    return step('apply', {
      method: 'PATCH',
      target,
      headers: [...headers, type('application/apply-patch+yaml')],
      body: text,
    })
  }
  if (draw < 85) {
    const [patchType, body] = pick(random, PATCHES)
    const filled = body.replace('NUMBER', String(random.below(5)))
    return step('patch', {
      method: 'PATCH',
      target: withQuery(path, dryRun),
      headers: [...headers, type(patchType)],
      body: filled,
    })
  }
  if (draw < 97) {
    const body = pick(random, [
      undefined,
      undefined,
      '{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}',
      '{',
      '{"preconditions":{"uid":"none"}}',
    ])
    return step('delete', {
      method: 'DELETE',
      target: withQuery(path, dryRun),
      headers: [...headers, type(JSON_TYPE)],
      body,
    })
  }
  const call = {
    method: pick(random, ['FOO', 'TRACE', 'LINK', 'get']),
    target: path,
    headers,
    body: undefined,
  }
  return step('odd method on', call)
}

export const drawRewrite = (random: Random): Step => {
  const resource = pick(random, [
    'nodes',
    'services',
    'endpoints',
    'endpointslices',
    'endpointslices',
    'configmaps',
  ] as const)
  const how = pick(random, [
    'put',
    'put',
    'put back',
    'merge patch',
    'json patch',
    'delete',
  ] as const)
  const form =
    how === 'put back' || how === 'delete' ? pick(random, ['json', 'protobuf'] as const) : 'json'
  const rewrite: Rewrite = { resource, name: drawName(random, resource), how, form }
  return { kind: 'rewrite', what: `read, then ${how} ${resource}`, rewrite }
}

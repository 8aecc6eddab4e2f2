// SPDX-License-Identifier: Apache-2.0
// What the webhook's account writes, and what it is refused.
import type { Sent } from './bed.js'
import { configMap, dead, JSON_PATCH, MERGE } from './requests.js'
import type { Refuser, Row } from './rows.js'

const SECRETS = '/api/v1/namespaces/edge-system/secrets'
const OWN = `${SECRETS}/edge-health-webhook-certificates`
const KINDS = ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'] as const
const DRY = 'dryRun=All'

const registration = (kind: (typeof KINDS)[number], ...body: readonly object[]): Sent => ({
  ...{ method: 'PATCH', type: JSON_PATCH, body },
  path: `/apis/admissionregistration.k8s.io/v1/${kind}/edge-health-webhook?${DRY}`,
})
const mutating = (...body: readonly object[]): Sent => registration(KINDS[0], ...body)
const replace = (path: string, value: unknown): Sent =>
  mutating({ op: 'replace', path: `/webhooks/0/${path}`, value })
const secret = (body: object, path = OWN): Sent => ({
  ...{ method: 'PATCH', type: MERGE, body, path: `${path}?${DRY}` },
})
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBhTCCASugAwIBAgIQIRi6zePL6mKjOipn+dNuaTAKBggqhkjOPQQDAjASMRAw
DgYDVQQKEwdBY21lIENvMB4XDTE3MTAyMDE5NDMwNloXDTE4MTAyMDE5NDMwNlow
EjEQMA4GA1UEChMHQWNtZSBDbzBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABD0d
7VNhbWvZLWPuj/RtHFjvtJBEwOkhbN/BnnE8rnZR8+sbwnc/KhCk3FhnpHZnQz7B
5aETbbIgmuvewdjvSBSjYzBhMA4GA1UdDwEB/wQEAwICpDATBgNVHSUEDDAKBggr
BgEFBQcDATAPBgNVHRMBAf8EBTADAQH/MCkGA1UdEQQiMCCCDmxvY2FsaG9zdDo1
NDUzgg4xMjcuMC4wLjE6NTQ1MzAKBggqhkjOPQQDAgNIADBFAiEA2zpJEPQyz6/l
Wf86aX6PepsntZv2GYlA5UpabfT2EZICICpJ5h/iI+i341gBmLiAFQOyTDT+/wQc
6MF9+Yw1Yy0t
-----END CERTIFICATE-----
`
const BUNDLE = Buffer.from(CERTIFICATE).toString('base64')
const trusts = { op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: BUNDLE }

const rows = (refusedBy: Refuser, list: readonly (readonly [what: string, sent: Sent])[]): readonly Row[] => list.map(([what, sent]) => ({ what, refusedBy, by: 'webhook', sends: () => [sent] })) // prettier-ignore

/** With its own rights. */
export const WEBHOOK: readonly Row[] = [
  ...rows('nobody', [
    ['its certificates', secret({ data: { 'tls.crt': BUNDLE } })],
    ['whom the apiserver trusts', mutating(trusts)],
    ['… for marks on Pods', registration(KINDS[1], trusts)],
  ]),
  ...rows('webhook-writes', [
    ['another address', replace('clientConfig', { url: 'https://example.com/', caBundle: BUNDLE })],
    ['another Service', replace('clientConfig/service/name', 'other')],
    ['another path', replace('clientConfig/service/path', '/other')],
    ['other writes', replace('rules/0/resources', ['secrets'])],
    ['no condition', mutating({ op: 'remove', path: '/webhooks/0/matchConditions' })],
    ['a condition that always holds', replace('matchConditions/0/expression', 'true')],
    ['writes wait for it', replace('failurePolicy', 'Fail')],
    ['… and for long', replace('timeoutSeconds', 30)],
    ['more than once', replace('reinvocationPolicy', 'Never')],
    ['another name', replace('name', 'other.webhook.edge-health')],
    ['none at all', mutating({ op: 'replace', path: '/webhooks', value: [] })],
    ['one more', mutating({ op: 'copy', from: '/webhooks/0', path: '/webhooks/-' }, { op: 'replace', path: '/webhooks/1/name', value: 'b.webhook.edge-health' })],
    ['a label', mutating({ op: 'add', path: '/metadata/labels/x', value: 'y' })],
    ['other namespaces', registration(KINDS[1], { op: 'remove', path: '/webhooks/0/namespaceSelector' })],
    ['an annotation of its Secret', secret({ metadata: { annotations: { 'kubernetes.io/service-account.name': 'default' } } })],
    ['a finalizer of it', secret({ metadata: { finalizers: ['example.com/x'] } })],
  ]),
  ...rows('rights', [
    ['a Secret is made', { method: 'POST', path: `${SECRETS}?${DRY}`, body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'row' } } }],
    ['its Secret is deleted', { method: 'DELETE', path: `${OWN}?${DRY}` }],
    ['another Secret is read', { method: 'GET', path: `${SECRETS}/edge-health-keys` }],
    ['all Secrets are read', { method: 'GET', path: SECRETS }],
    ['a ConfigMap is made', configMap('row-')],
    ['a Node is marked dead', dead('writer', 0)],
  ]),
] // prettier-ignore

/** When somebody has made it cluster-admin: the policy refuses. */
export const WEBHOOK_AS_ADMIN: readonly Row[] = rows('webhook-writes', [
  ['a token in a Secret', { method: 'POST', path: `${SECRETS}?${DRY}`, body: { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/service-account-token', metadata: { name: 'row', annotations: { 'kubernetes.io/service-account.name': 'edge-health-agent' } } } }],
  ['its Secret is deleted', { method: 'DELETE', path: `${OWN}?${DRY}` }],
  ['its Secret of another namespace', { method: 'POST', path: `/api/v1/namespaces/default/secrets?${DRY}`, body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'edge-health-webhook-certificates' } } }],
  ['a ConfigMap is made', configMap('row-')],
  ['a Node is marked dead', dead('writer', 0)],
  ['a Service is deleted', { method: 'DELETE', path: `/api/v1/namespaces/default/services/kubernetes?${DRY}` }],
]) // prettier-ignore

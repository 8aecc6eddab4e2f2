// SPDX-License-Identifier: Apache-2.0
// The embedded API with a registration of webhooks, as the webhook finds it.
import { Buffer } from 'node:buffer'
import { CertificateSecret } from '../../admission/run/certificate-secret.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { ResourceName } from '../../kube/client/resource.js'
import { testApi, type TestApi } from '../kube/api-client.js'
import { clientOf, never, rawType, until } from '../kube/raw-objects.js'

const GROUP = 'admissionregistration.k8s.io'
const CONFIGURATIONS: ResourceName = {
  ...{ group: GROUP, version: 'v1' },
  resource: 'mutatingwebhookconfigurations',
}
const KINDS = [
  ['mutatingwebhookconfigurations', 'MutatingWebhookConfiguration'],
  ['validatingwebhookconfigurations', 'ValidatingWebhookConfiguration'],
] as const

/** The embedded API does not know these kinds by itself. */
const definition = (plural: string, kind: string) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${GROUP}` },
  spec: {
    ...{ group: GROUP, scope: 'Cluster' },
    names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
})

export const REGISTRATION = 'edge-health-webhook'
export const SECRET = { namespace: 'edge-system', name: 'edge-health-webhook-certificates' }
const SECRETS: ResourceName = { group: '', version: 'v1', resource: 'secrets' }

interface Configuration {
  readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[]
}

export class WebhookBed {
  readonly api: TestApi
  readonly admin: ResourceClient

  constructor(api: TestApi, admin: ResourceClient) {
    this.api = api
    this.admin = admin
  }

  /** Registers two webhooks that trust nobody yet. */
  async register(): Promise<void> {
    const body = {
      apiVersion: `${GROUP}/v1`,
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: REGISTRATION },
      webhooks: ['node-taint', 'endpoint'].map(name => ({
        name: `${name}.edge-health.io`,
        clientConfig: { service: { ...SECRET, path: `/${name}` } },
      })),
    }
    await this.admin.create(rawType(CONFIGURATIONS), {}, { body }, never)
  }

  /** What the webhooks trust, as PEM; undefined when they do not trust the same. */
  async bundle(): Promise<string | undefined> {
    const type = { ...CONFIGURATIONS, parse: (raw: unknown) => raw as Configuration }
    const { webhooks } = await this.admin.get(type, { name: REGISTRATION }, never)
    const bundles = new Set(webhooks.map(({ clientConfig }) => clientConfig.caBundle ?? ''))
    return bundles.size === 1 ? Buffer.from([...bundles][0]!, 'base64').toString() : undefined
  }

  async setBundle(text: string): Promise<void> {
    const value = Buffer.from(text).toString('base64')
    const operations = [0, 1].map(
      at => ({ op: 'add', path: `/webhooks/${at}/clientConfig/caBundle`, value }) as const,
    )
    const patch = { type: 'json', operations } as const
    await this.admin.patch(rawType(CONFIGURATIONS), { name: REGISTRATION }, { patch }, never)
  }

  /** The keys of the Secret, as texts. */
  async secret(): Promise<Readonly<Record<string, string>>> {
    const parse = (raw: unknown) => (raw as { data: Record<string, string> }).data
    const found = await this.admin.get({ ...SECRETS, parse }, SECRET, never)
    const texts = Object.entries(found).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]) // prettier-ignore
    return Object.fromEntries(texts) as Record<string, string>
  }

  async spoilSecret(key: string, text: string): Promise<void> {
    const body = { data: { [key]: Buffer.from(text).toString('base64') } }
    await this.admin.patch(rawType(SECRETS), SECRET, { patch: { type: 'merge', body } }, never)
  }

  async deleteSecret(): Promise<void> {
    await this.admin.delete(SECRETS, SECRET, {}, never)
  }

  /** A replica's way to the Secret. */
  replica(): { readonly client: ResourceClient; readonly secret: CertificateSecret } {
    const client = clientOf(
      { url: this.api.api.url, token: this.api.token },
      'edge-health-admission',
    )
    return { client, secret: new CertificateSecret(client, SECRET) }
  }

  async stop(): Promise<void> {
    await this.admin.close()
    await this.api.api.stop()
  }
}

/** Stop it in the test's teardown. */
export const openWebhookBed = async (): Promise<WebhookBed> => {
  const api = await testApi()
  const admin = clientOf({ url: api.api.url, token: api.token }, 'kubectl')
  const definitions = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' } // prettier-ignore
  for (const [plural, kind] of KINDS)
    await admin.create(rawType(definitions), {}, { body: definition(plural, kind) }, never)
  const isServed = () =>
    admin.list(rawType(CONFIGURATIONS), {}, never).then(
      () => true,
      () => false,
    )
  await until('the registration is served', isServed)
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SECRET.namespace } }
  const namespaces = { group: '', version: 'v1', resource: 'namespaces' }
  await admin.create(rawType(namespaces), {}, { body }, never)
  return new WebhookBed(api, admin)
}

// SPDX-License-Identifier: Apache-2.0
import { Buffer } from 'node:buffer'
import * as v from 'valibot'
import { KubeStatusError } from '../../core/errors.js'
import { parseWith } from '../../core/parse.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { ResourceType } from '../../kube/client/resource.js'

interface Registered {
  readonly resourceVersion: string
  /** The CA bundle of each webhook, as PEM. */
  readonly bundles: readonly string[]
}

const schema = v.object({
  metadata: v.object({ resourceVersion: v.string() }),
  webhooks: v.nullish(
    v.array(v.object({ clientConfig: v.object({ caBundle: v.nullish(v.string(), '') }) })),
    [],
  ),
})

const parseRegistered = (raw: unknown): Registered => {
  const { metadata, webhooks } = parseWith(schema, 'webhook configuration', raw)
  return {
    resourceVersion: metadata.resourceVersion,
    bundles: webhooks.map(({ clientConfig }) =>
      Buffer.from(clientConfig.caBundle, 'base64').toString('utf8'),
    ),
  }
}

const type = (resource: string): ResourceType<Registered> => ({
  ...{ group: 'admissionregistration.k8s.io', version: 'v1', resource },
  parse: parseRegistered,
})

/** The kinds of webhook configurations: mutating for changes, validating for refusals. */
const KINDS = [type('mutatingwebhookconfigurations'), type('validatingwebhookconfigurations')]

const isGone = (error: unknown): boolean => error instanceof KubeStatusError && error.status === 404

/** Somebody else wrote it at the same time: the patch's `test` failed. */
const isLost = (error: unknown): boolean =>
  error instanceof KubeStatusError && [404, 409, 422].includes(error.status)

/**
 * Set the CA bundle that `bundleFor` makes of those of a configuration. It is called after the configuration was read, and the
 * patch applies only to that state, so no replica with older data removes an authority that another one just added.
 * @returns the bundle of each webhook of this name, as read back; undefined when somebody else wrote at the same time
 */
export const trustBundle = async (
  client: Pick<ResourceClient, 'get' | 'patch'>,
  name: string,
  bundleFor: (present: readonly string[]) => Promise<string>,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> => {
  const found: string[] = []
  let isLostToOthers = false
  for (const kind of KINDS) {
    try {
      const { resourceVersion, bundles } = await client.get(kind, { name }, signal)
      const bundle = await bundleFor(bundles)
      const caBundle = Buffer.from(bundle).toString('base64')
      const operations = bundles.flatMap((present, at) =>
        present === bundle
          ? []
          : ({
              op: 'add',
              path: `/webhooks/${at}/clientConfig/caBundle`,
              value: caBundle,
            } as const),
      )
      if (operations.length === 0) {
        found.push(...bundles)
        continue
      }
      const test = {
        op: 'test',
        path: '/metadata/resourceVersion',
        value: resourceVersion,
      } as const
      const patch = { type: 'json', operations: [test, ...operations] } as const
      found.push(...(await client.patch(kind, { name }, { patch }, signal)).bundles)
    } catch (error) {
      if (isGone(error)) continue
      if (!isLost(error)) throw error
      isLostToOthers = true
    }
  }
  return isLostToOthers ? undefined : found
}

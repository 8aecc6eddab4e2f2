// SPDX-License-Identifier: Apache-2.0
import { Buffer } from 'node:buffer'
import * as v from 'valibot'
import { KubeStatusError } from '../../core/errors.js'
import { parseWith } from '../../core/parse.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { ResourceType } from '../../kube/client/resource.js'
import type { KubePatch } from '../../kube/client/write.js'

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

/** The patch that gives all webhooks this bundle; undefined when they have it. */
const patchOf = (
  { resourceVersion, bundles }: Registered,
  bundle: string,
): KubePatch | undefined => {
  const value = Buffer.from(bundle).toString('base64')
  const operations = bundles.flatMap((present, at) =>
    present === bundle
      ? []
      : [{ op: 'add', path: `/webhooks/${at}/clientConfig/caBundle`, value } as const],
  )
  if (operations.length === 0) return undefined
  const test = { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion } as const
  return { type: 'json', operations: [test, ...operations] }
}

/** What the webhooks of a name trust. */
export interface Trusting {
  /** The bundle of each webhook: as read back, or as it was where it could not be written. */
  readonly bundles: readonly string[]
  /** Why one could not be written; undefined when all have what they should. */
  readonly refusal: unknown
  /** Somebody else wrote at the same time. */
  readonly isLostToOthers: boolean
}

/**
 * Set the CA bundle that `bundleFor` makes of those of a configuration. It is called after the configuration was read, and the
 * patch applies only to that state, so no replica with older data removes an authority that another one just added.
 * Rejects when a configuration cannot be read.
 */
export const trustBundle = async (
  client: Pick<ResourceClient, 'get' | 'patch'>,
  name: string,
  bundleFor: (present: readonly string[]) => Promise<string>,
  signal: AbortSignal,
): Promise<Trusting> => {
  const found: string[] = []
  let refusal: unknown
  let isLostToOthers = false
  for (const kind of KINDS) {
    let present: Registered | undefined
    try {
      present = await client.get(kind, { name }, signal)
      const patch = patchOf(present, await bundleFor(present.bundles))
      const written =
        patch === undefined ? present : await client.patch(kind, { name }, { patch }, signal)
      found.push(...written.bundles)
    } catch (error) {
      if (isGone(error)) continue
      if (present === undefined) throw error
      found.push(...present.bundles)
      refusal ??= error
      isLostToOthers ||= isLost(error)
    }
  }
  return { bundles: found, refusal, isLostToOthers }
}

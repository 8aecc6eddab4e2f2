// SPDX-License-Identifier: Apache-2.0
import type { Option } from 'commander'
import * as v from 'valibot'
import type { ServiceView, WrapperStatusView } from '../wrapper/status/status-view.js'
import { LocalClient } from './local-client.js'
import type { CliContext } from './cli-context.js'

const client = new LocalClient({
  name: 'wrapper',
  withArticle: 'a wrapper',
  listener: "the wrapper's status listener",
  url: 'http://127.0.0.1:51007',
})

/** `--wrapper URL`, or EDGE_HEALTH_WRAPPER. */
export const wrapperOption = (context: CliContext): Option => client.option(context)

// Enough to tell a wrapper from anything else that answers on this port; the other fields are trusted.
const head = { version: v.string(), at: v.string(), node: v.string() }
const statusSchema = v.looseObject({
  ...head,
  resources: v.array(v.looseObject({ resource: v.string(), source: v.string() })),
  health: v.looseObject({ state: v.string() }),
})
const decisions = v.array(v.looseObject({ object: v.string(), isKept: v.boolean() }))
const serviceSchema = v.looseObject({ ...head, slices: decisions, endpoints: decisions })

/** The wrapper's status. @throws Exit 3 when there is no answer. */
export const fetchWrapperStatus = async (
  url: string,
  context: CliContext,
): Promise<WrapperStatusView> => {
  const base = client.parseUrl(url)
  const { text } = await client.fetch(base, '/status', context)
  return client.parse(base, '/status', statusSchema, text) as WrapperStatusView
}

/** The decisions about a service's endpoints; undefined when the wrapper does not know the service. @throws Exit 3. */
export const fetchService = async (
  url: string,
  service: string,
  context: CliContext,
): Promise<ServiceView | undefined> => {
  const base = client.parseUrl(url)
  const path = `/explain?service=${encodeURIComponent(service)}`
  const { status, text } = await client.fetch(
    base,
    path,
    context,
    answer => answer.status === 404 && answer.text.startsWith('no such service'),
  )
  if (status === 404) return undefined
  return client.parse(base, path, serviceSchema, text) as ServiceView
}

// SPDX-License-Identifier: Apache-2.0
import type { LocalTarget } from '../wire/local-rewrite.js'
import { isAddress } from './address.js'

/** Whether an object holds the apiserver's own endpoints and is annotated with an address of it on this node. */
export type LocalEndpoint =
  | { readonly kind: 'none' }
  | ({ readonly kind: 'rewrite' } & LocalTarget)
  | { readonly kind: 'malformed'; readonly trouble: string }

const APISERVER = 'default/kubernetes'
const ADDRESS = 'superedge.io/local-endpoint'
const PORT = 'superedge.io/local-port'

const NONE: LocalEndpoint = { kind: 'none' }
const malformed = (trouble: string): LocalEndpoint => ({ kind: 'malformed', trouble })

/**
 * Read `superedge.io/local-endpoint` and `superedge.io/local-port` of `default/kubernetes` (Endpoints, or the slices of
 * that service). Anything else is `none`. Malformed annotations change nothing, and say so.
 * @param service `namespace/name`
 */
export const readLocalEndpoint = (
  service: string,
  annotations: ReadonlyMap<string, string>,
): LocalEndpoint => {
  const address = annotations.get(ADDRESS)
  const port = annotations.get(PORT)
  if (service !== APISERVER || (address === undefined && port === undefined)) return NONE
  if (address === undefined || port === undefined)
    return malformed(`${ADDRESS} and ${PORT} must be given together`)
  if (!isAddress(address)) return malformed(`${ADDRESS} must be an IP address`)
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0
  if (number < 1 || number > 65_535) return malformed(`${PORT} must be 1 to 65535`)
  return { kind: 'rewrite', address, port: number }
}

// SPDX-License-Identifier: Apache-2.0

/** What the wrapper keeps. Both wire versions of EndpointSlice are this one kind: v1beta1 is derived from v1. */
export type Kind = 'Node' | 'Service' | 'Endpoints' | 'EndpointSlice' | 'ServiceCIDR'

/** An unparsed JSON object. */
export type JsonMap = Readonly<Record<string, unknown>>

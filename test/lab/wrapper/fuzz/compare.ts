// SPDX-License-Identifier: Apache-2.0
// Two answers to one request, straight and through the wrapper: what may differ is a closed list.
import { firstDifference } from './first-difference.js'
import type { RawAnswer, RawCall } from './raw-call.js'

/** What may differ, and how often it did. */
export const ALLOWED = [
  ...['our version', 'endpoints left out', '409 for an altered object'],
  // Node.js refuses such a request before anybody sees it.
  '400 for a method that HTTP does not name',
  // An apiserver since 1.25 has no EndpointSlices of v1beta1; older clients, such as SuperEdge's, get them here.
  'v1beta1, made from v1',
] as const
export type Allowed = (typeof ALLOWED)[number]

export type Compared =
  | { readonly kind: 'same'; readonly allowed: readonly Allowed[] }
  | { readonly kind: 'different'; readonly how: string }

/** Headers that are of one connection or one request, and no part of what is said. */
const OWN_HEADERS = new Set([
  ...['date', 'audit-id', 'content-length', 'transfer-encoding', 'connection', 'keep-alive'],
  ...[
    'x-kubernetes-pf-flowschema-uid',
    'x-kubernetes-pf-prioritylevel-uid',
    'cache-control',
    'vary',
  ],
])

/** Each side has its own objects: times, identities and addresses of them are theirs. */
const withoutIdentity = (text: string): string =>
  text
    .replaceAll(/straight|wrapped/g, 'SIDE')
    .replaceAll(/("?uid"?: ?"?)[0-9a-f-]{36}/g, '$1U')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'U')
    .replaceAll(/("?(?:creationTimestamp|deletionTimestamp|time)"?: ?)"[^"]*"/g, '$1"T"')
    .replaceAll(/10\.96\.\d+\.\d+/g, 'IP')
    .replaceAll(/"(\d+)(ms|s|m|h|d)(\d+s)?"/g, '"AGE"')

const withoutVersions = (text: string): string =>
  text
    .replaceAll(/("?resourceVersion"?: ?"?)\d+/g, '$1N')
    .replaceAll(/"continue": ?"[^"]*"/g, '"continue":"C"')
    .replaceAll(/(resource [vV]ersion[^0-9"]{0,30})\d+/g, '$1N')

/** The apiserver orders them by the second of the last write, which is each side's own. */
const inOrder = (managedFields: readonly unknown[]): readonly unknown[] =>
  managedFields.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))

/** The same with members and managed fields in order, and numbers as they were written. */
export const canonical = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value as Record<string, unknown>)
  const kept = entries
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]): [string, unknown] => [key, canonical(inner)])
    .map(([key, inner]): [string, unknown] => [
      key,
      key === 'managedFields' && Array.isArray(inner) ? inOrder(inner) : inner,
    ])
  return Object.fromEntries(kept)
}

const parsed = (text: string): unknown => {
  try {
    return canonical(JSON.parse(text.replaceAll(/([:,[]\s*)(-?\d{16,})(?=\s*[,}\]])/g, '$1"$2"')))
  } catch {
    return text
  }
}

const LISTS = new Set(['endpoints', 'subsets'])

/** Whether `less` is `all` without some endpoints; everything else must be equal. */
const isLess = (all: unknown, less: unknown, inside = false): boolean => {
  if (JSON.stringify(all) === JSON.stringify(less)) return true
  if (inside && Array.isArray(all) && less === null) return true
  if (Array.isArray(all) && Array.isArray(less)) {
    if (!inside) return all.length === less.length && all.every((each, i) => isLess(each, less[i]))
    // A subset of Endpoints stays and loses addresses; an endpoint goes as a whole, and the order stays.
    let at = 0
    for (const each of less) {
      while (at < all.length && !isLess(all[at], each, true)) at++
      if (at++ >= all.length) return false
    }
    return true
  }
  if (typeof all !== 'object' || typeof less !== 'object' || all === null || less === null)
    return false
  const [one, other] = [all as Record<string, unknown>, less as Record<string, unknown>]
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  const mayGo = (name: string): boolean => name === 'addresses' || name === 'notReadyAddresses'
  return [...names].every(name => {
    if (inside && mayGo(name) && !(name in other) && Array.isArray(one[name])) return true
    return isLess(one[name], other[name], inside ? mayGo(name) : LISTS.has(name))
  })
}

const shown = (value: string): string => (value.length > 600 ? `${value.slice(0, 600)}…` : value)

const isAlteredConflict = (straight: RawAnswer, wrapped: RawAnswer): boolean =>
  wrapped.status === 409 &&
  straight.status !== 409 &&
  /"reason": ?"Conflict"/.test(wrapped.body.toString('utf8')) &&
  wrapped.body.toString('utf8').includes('left out')

const headerDifference = (straight: RawAnswer, wrapped: RawAnswer): string | undefined => {
  const names = new Set([...straight.headers.keys(), ...wrapped.headers.keys()])
  for (const name of names) {
    if (OWN_HEADERS.has(name)) continue
    const [one, other] = [straight.headers, wrapped.headers].map(headers =>
      withoutVersions(withoutIdentity(headers.get(name) ?? '(none)')),
    )
    if (one !== other) return `header ${name}: straight ${one}, wrapper ${other}`
  }
  return undefined
}

const bodyDifference = (straight: RawAnswer, wrapped: RawAnswer): Compared => {
  const type = straight.headers.get('content-type') ?? ''
  // Versions stand in protobuf too, in as many bytes as they have digits: informers judge that form.
  if (type.includes('protobuf') || straight.headers.has('content-encoding'))
    return { kind: 'same', allowed: [] }
  const [one, other] = [straight, wrapped].map(({ body }) => withoutIdentity(body.toString('utf8')))
  if (one === other) return { kind: 'same', allowed: [] }
  const [plain, ours] = [parsed(withoutVersions(one!)), parsed(withoutVersions(other!))]
  if (JSON.stringify(plain) === JSON.stringify(ours))
    return { kind: 'same', allowed: ['our version'] }
  if (isLess(plain, ours)) return { kind: 'same', allowed: ['our version', 'endpoints left out'] }
  return { kind: 'different', how: `body: ${firstDifference(plain, ours)}` }
}

const BETA_SLICES =
  /^\/apis\/discovery\.k8s\.io\/v1beta1\/(namespaces\/[^/]*\/)?endpointslices(\?|$)/

/** A list that is made here, or refused, where the apiserver says that it knows no such resource. */
const isMadeBeta = (
  { method, target }: Pick<RawCall, 'method' | 'target'>,
  straight: RawAnswer,
): boolean => method === 'GET' && straight.status === 404 && BETA_SLICES.test(target)

/** Compare what both sides answered to one request. */
export const compare = (
  call: Pick<RawCall, 'method' | 'target'>,
  straight: RawAnswer,
  wrapped: RawAnswer,
): Compared => {
  if (isMadeBeta(call, straight) && wrapped.status < 500)
    return { kind: 'same', allowed: ['v1beta1, made from v1'] }
  if (isAlteredConflict(straight, wrapped))
    return { kind: 'same', allowed: ['409 for an altered object'] }
  if (straight.status >= 400 && wrapped.status === 400 && wrapped.body.length === 0)
    return { kind: 'same', allowed: ['400 for a method that HTTP does not name'] }
  if (straight.status !== wrapped.status)
    return {
      kind: 'different',
      how: `status: straight ${straight.status}, wrapper ${wrapped.status} ${shown(wrapped.body.toString('utf8'))}; straight said ${shown(straight.body.toString('utf8'))}`,
    }
  if (straight.end !== wrapped.end)
    return { kind: 'different', how: `end: straight ${straight.end}, wrapper ${wrapped.end}` }
  const header = headerDifference(straight, wrapped)
  return header === undefined
    ? bodyDifference(straight, wrapped)
    : { kind: 'different', how: header }
}

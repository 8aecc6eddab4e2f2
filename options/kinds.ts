// SPDX-License-Identifier: Apache-2.0
import { isIP } from 'node:net'
import { canonicalAddress } from '../core/address.js'
import { parseNodeName, type NodeName } from '../core/ids.js'
import { SUBDOMAIN } from '../core/label.js'

/**
 * How an option's text is checked and parsed. Every source (flag, environment, file, profile, default) gives text,
 * so that one parser and one rule hold for all of them.
 */
export interface Kind<T> {
  /** One word for `--help`: `duration`. */
  readonly name: string
  /** Completes "the option …": `must be a duration from 100ms to 1h`. */
  readonly rule: string
  /** The rule as the reference shows it, where durations are explained only once: `100ms to 1h`. Default: `rule`. */
  readonly brief?: string
  /**
   * Undefined when the text breaks the rule. A kind of many rules throws InvalidInputError instead, and names the
   * option by `thing`.
   */
  parse(text: string, thing: string): { readonly value: T } | undefined
  /** The text that parses to this value. */
  format(value: T): string
}

/** The values that a kind takes, as the reference shows them. */
export const briefOf = ({ brief, rule }: Kind<unknown>): string =>
  brief ?? rule.replace(/^must be /, '')

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/

/** Milliseconds of `10s`, `500ms`, `1m`, `1m30s`; undefined for anything else, bare numbers too. */
const parseDuration = (text: string): number | undefined => {
  if (!DURATION.test(text)) return undefined
  let ms = 0
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    ms += Number(amount) * UNIT_MS[unit!]!
  }
  return Number.isInteger(ms) ? ms : undefined
}

/** The shortest text with one unit: `500ms`, `60s`, `5m`. */
export const formatDuration = (ms: number): string => {
  if (ms % 1_000 !== 0) return `${ms}ms`
  return ms >= 120_000 && ms % 60_000 === 0 ? `${ms / 60_000}m` : `${ms / 1_000}s`
}

export const accept = <T>(value: T): { readonly value: T } => ({ value })

/** A length of time in whole milliseconds within bounds. */
export const duration = (min: string, max: string): Kind<number> => {
  const low = parseDuration(min)!
  const high = parseDuration(max)!
  return {
    name: 'duration',
    rule: `must be a duration from ${min} to ${max} with its unit, such as 10s, 500ms or 1m`,
    brief: `${min} to ${max}`,
    parse: text => {
      const ms = parseDuration(text)
      return ms === undefined || ms < low || ms > high ? undefined : accept(ms)
    },
    format: formatDuration,
  }
}

/** A whole number within bounds. */
export const integer = (min: number, max: number, name = 'number'): Kind<number> => ({
  name,
  rule: `must be a whole number from ${min} to ${max}`,
  brief: `${min} to ${max}`,
  parse: text => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN
    return value >= min && value <= max ? accept(value) : undefined
  },
  format: String,
})

export const port: Kind<number> = {
  ...integer(1, 65_535, 'port'),
  rule: 'must be a port from 1 to 65535',
}

/** A part of the whole above 0: `40%` or `0.4`. */
export const share: Kind<number> = {
  name: 'share',
  rule: 'must be a share above 0 and up to 100%, such as 40% or 0.4',
  brief: '0.4 or 40%',
  parse: text => {
    const match = /^(\d{1,3}(?:\.\d{1,6})?)(%?)$/.exec(text)
    if (match === null) return undefined
    const value = match[2] === '%' ? Number(match[1]) / 100 : Number(match[1])
    return value > 0 && value <= 1 ? accept(value) : undefined
  },
  format: value => `${Math.round(value * 1e8) / 1e6}%`,
}

/** One of a few words. */
export const oneOf = <T extends string>(...words: readonly T[]): Kind<T> => ({
  name: words.join('|'),
  rule: `must be one of ${words.join(', ')}`,
  brief: words.join(', '),
  parse: text => (words.includes(text as T) ? accept(text as T) : undefined),
  format: value => value,
})

export const boolean: Kind<boolean> = {
  name: 'true|false',
  rule: 'must be true or false',
  brief: 'true, false',
  parse: text => (text === 'true' || text === 'false' ? accept(text === 'true') : undefined),
  format: String,
}

/** An IP address, never a host name: a dead resolver must not keep an agent from starting. */
export const address: Kind<string> = {
  name: 'address',
  rule: 'must be an IPv4 or IPv6 address without brackets',
  brief: 'IP address',
  parse: text => {
    const address = canonicalAddress(text)
    return address === undefined ? undefined : accept(address)
  },
  format: value => value,
}

export const nodeName: Kind<NodeName> = {
  name: 'name',
  rule: 'must be a node name: an RFC 1123 subdomain of at most 253 characters',
  brief: 'node name',
  parse: text => {
    try {
      return accept(parseNodeName(text))
    } catch {
      return undefined
    }
  },
  format: value => value,
}

/** Address and port of a listener. */
export interface ListenAddress {
  /** Without brackets. */
  readonly host: string
  readonly port: number
}

const LISTEN_ADDRESS =
  /^(?:\[(?<six>[0-9a-fA-F:.]+)\]|(?<four>[0-9.]+|localhost)):(?<digits>\d{1,5})$/

/** An address and a port; `localhost`, which SuperEdge's default contains, is 127.0.0.1. */
export const listenAddress: Kind<ListenAddress> = {
  name: 'address:port',
  rule: 'must be an IP address and a port such as 127.0.0.1:51006 or [::1]:51006',
  brief: 'IP:port',
  parse: given => {
    const { six, four, digits } = LISTEN_ADDRESS.exec(given)?.groups ?? {}
    const host = six ?? (four === 'localhost' ? '127.0.0.1' : (four ?? ''))
    const port = Number(digits ?? 0)
    const isAddress = isIP(host) === (six === undefined ? 4 : 6)
    return isAddress && port >= 1 && port <= 65_535 ? accept({ host, port }) : undefined
  },
  format: ({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`,
}

const matching = (
  { name, rule, brief }: Required<Pick<Kind<string>, 'name' | 'rule' | 'brief'>>,
  pattern: RegExp,
): Kind<string> => ({
  name,
  rule,
  brief,
  parse: text => (pattern.test(text) ? accept(text) : undefined),
  format: value => value,
})

/** A Kubernetes object's name. */
export const objectName = matching(
  {
    name: 'name',
    rule: 'must be a Kubernetes object name of at most 63 lower case letters, digits and dashes',
    brief: 'object name',
  },
  /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
)

/** Free text on one line. */
export const text = matching(
  {
    name: 'text',
    rule: 'must be at most 128 printable characters',
    brief: 'at most 128 printable characters',
  },
  /^[\x20-\x7e]{0,128}$/,
)

export const path = matching(
  { name: 'path', rule: 'must be a path without control characters', brief: 'path' },
  /^\P{Cc}{1,4096}$/u,
)

/** A URL with one of the given schemes; `tcp` needs a port. */
export const url = (...schemes: readonly string[]): Kind<string> => ({
  name: 'url',
  rule: `must be a URL that starts with ${schemes.map(scheme => `${scheme}://`).join(' or ')}`,
  brief: `${schemes.join(' or ')} URL`,
  parse: given => {
    if (!URL.canParse(given) || /\s/.test(given)) return undefined
    const { protocol, hostname, port: number } = new URL(given)
    const scheme = protocol.slice(0, -1)
    if (!schemes.includes(scheme) || hostname === '') return undefined
    return scheme === 'tcp' && number === '' ? undefined : accept(given)
  },
  format: value => value,
})

const NAME_PART = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?'
const DOMAIN_PART = SUBDOMAIN.source.slice(1, -1).replaceAll('(', '(?:')
export const LABEL_KEY = `(?:(?=[^/]{1,253}/)${DOMAIN_PART}/)?${NAME_PART}`
export const LABEL_VALUE = `(?:${NAME_PART})?`
const SELECTOR_TERM =
  `(?:!?${LABEL_KEY}|${LABEL_KEY}\\s*(?:=|==|!=)\\s*${LABEL_VALUE}` +
  `|${LABEL_KEY}\\s+(?:in|notin)\\s+\\(\\s*${LABEL_VALUE}(?:\\s*,\\s*${LABEL_VALUE})*\\s*\\))`
const SELECTOR = new RegExp(`^\\s*${SELECTOR_TERM}(?:\\s*,\\s*${SELECTOR_TERM})*\\s*$`)

/** A label selector in kubectl's syntax; empty selects everything. */
export const selector: Kind<string> = {
  name: 'selector',
  rule: 'must be a label selector such as role=edge,!spare or zone in (a,b)',
  brief: 'label selector',
  parse: given =>
    given.length <= 1_024 && (given === '' || SELECTOR.test(given)) ? accept(given) : undefined,
  format: value => value,
}

/** The same kind, or no value: empty text and `none` unset the option. */
export const optional = <T>(kind: Kind<T>): Kind<T | undefined> => ({
  name: kind.name,
  rule: `${kind.rule}, or none`,
  brief: `${briefOf(kind)}, or none`,
  parse: (given, thing) =>
    given === '' || given === 'none' ? accept(undefined) : kind.parse(given, thing),
  format: value => (value === undefined ? '' : kind.format(value)),
})

// SPDX-License-Identifier: Apache-2.0
import { isMap, textAt, type KubeObject } from './object.js'
import { badRequest } from './status.js'

/** Says whether an object is wanted. */
export type Match = (object: KubeObject) => boolean

type Labels = Readonly<Record<string, string>>
type Wants = (labels: Labels) => boolean

const KEY = String.raw`(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?`
const VALUE = String.raw`(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?`
const EXISTS = new RegExp(`^(!?)\\s*(${KEY})$`)
const EQUALITY = new RegExp(`^(${KEY})\\s*(==|=|!=)\\s*(${VALUE})$`)
const SET = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`)
const ORDER = new RegExp(`^(${KEY})\\s*([<>])\\s*(-?\\d{1,18})$`)
const WHOLE_VALUE = new RegExp(`^${VALUE}$`)

const has = (labels: Labels, key: string): boolean => Object.hasOwn(labels, key)

const parseExists = (text: string): Wants | undefined => {
  const found = EXISTS.exec(text)
  if (found === null) return undefined
  const [, not, key] = found
  return labels => has(labels, key!) !== (not === '!')
}

const parseEquality = (text: string): Wants | undefined => {
  const found = EQUALITY.exec(text)
  if (found === null) return undefined
  const [, key, operator, value] = found
  // A missing label satisfies `!=`: it is not that value.
  if (operator === '!=') return labels => !has(labels, key!) || labels[key!] !== value
  return labels => has(labels, key!) && labels[key!] === value
}

const parseSet = (text: string): Wants | undefined => {
  const found = SET.exec(text)
  if (found === null) return undefined
  const [, key, operator, inner] = found
  const values = new Set(inner!.split(',').map(value => value.trim()))
  for (const value of values) if (!WHOLE_VALUE.test(value)) return undefined
  if (operator === 'in') return labels => has(labels, key!) && values.has(labels[key!]!)
  return labels => !has(labels, key!) || !values.has(labels[key!]!)
}

const parseOrder = (text: string): Wants | undefined => {
  const found = ORDER.exec(text)
  if (found === null) return undefined
  const [, key, operator, bound] = found
  return labels => {
    if (!has(labels, key!) || !/^-?\d+$/.test(labels[key!]!)) return false
    const value = BigInt(labels[key!]!)
    return operator === '>' ? value > BigInt(bound!) : value < BigInt(bound!)
  }
}

/** Split at the commas outside parentheses. */
const requirements = (text: string): string[] =>
  text.split(/,(?![^()]*\))/).map(requirement => requirement.trim())

const parseRequirement = (text: string): Wants => {
  const wants = parseExists(text) ?? parseEquality(text) ?? parseSet(text) ?? parseOrder(text)
  if (wants === undefined)
    throw badRequest(`unable to parse requirement: found '${text}', expected: a label requirement`)
  return wants
}

/**
 * A label selector: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>5`. Empty means everything.
 * @throws Refusal 400 when it does not parse.
 */
export const parseLabelSelector = (text: string): Match => {
  if (text.trim() === '') return () => true
  const all = requirements(text).map(parseRequirement)
  return object => {
    const { labels } = object.metadata
    const given = isMap(labels) ? labels : {}
    return all.every(wants => wants(given))
  }
}

/** Split at commas that are not escaped, as field selectors have it. */
const fieldTerms = (text: string): string[] => text.split(/(?<!\\),/).filter(term => term !== '')

const unescape = (text: string): string => text.replaceAll(/\\([,=\\])/g, '$1')

/**
 * A field selector: `metadata.name=a,spec.clusterIP!=None`. Empty means everything.
 * @param paths which labels the kind serves, and where each is found in the stored object; `path=x`: x if it is absent.
 * @throws Refusal 400 when it does not parse or the kind does not serve a field.
 */
export const parseFieldSelector = (
  text: string,
  paths: Readonly<Record<string, string>>,
): Match => {
  const all = fieldTerms(text).map((term): Match => {
    const found = /^(.*?)(!=|==|=)(.*)$/s.exec(term)
    if (found === null) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`)
    const [, label, operator, raw] = found
    if (!Object.hasOwn(paths, label!)) throw badRequest(`field label not supported: ${label!}`)
    const [path, absent = ''] = paths[label!]!.split('=')
    const value = unescape(raw!)
    return object => ((textAt(object, path!) || absent) === value) === (operator !== '!=')
  })
  return object => all.every(match => match(object))
}

// SPDX-License-Identifier: Apache-2.0
import { isLabelKey, isLabelValue, SUBDOMAIN } from '../core/label.js'
import { cutSelector, type Token } from './selector-tokens.js'

/** Labels, as far as selectors ask of them. A `Map` is one. */
export interface Labels {
  get(key: string): string | undefined
}

/** Says whether labels are wanted. */
export type LabelMatch = (labels: Labels) => boolean

/** A text that is not a label selector; the message is kube-apiserver's own. */
export class LabelSelectorError extends Error {}

/** Every object is held against each requirement of a selector; `in (…)` is one, so nobody needs more. */
const MOST_REQUIREMENTS = 1_000

const OPERATORS = 'in, notin, =, ==, !=, gt, lt'
const PARTS =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g."

const trouble = (what: string): Error =>
  new LabelSelectorError(`unable to parse requirement: ${what}`)

const tooLong = (length: number): string => `must be no more than ${length} bytes`

const nameTrouble = (name: string): string => {
  if (name === '') return 'name part must be non-empty'
  if (name.length > 63) return `name part ${tooLong(63)}`
  return `name part ${PARTS} 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`
}

const prefixTrouble = (prefix: string): string | undefined => {
  if (prefix === '') return 'prefix part must be non-empty'
  if (prefix.length > 253) return `prefix part ${tooLong(253)}`
  if (SUBDOMAIN.test(prefix)) return undefined
  return "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
}

const checkKey = (key: string): void => {
  if (isLabelKey(key)) return
  const parts = key.split('/')
  const found =
    parts.length > 2
      ? `a valid label key ${PARTS} 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`
      : ((parts.length === 2 ? prefixTrouble(parts[0]!) : undefined) ?? nameTrouble(parts.at(-1)!))
  throw trouble(`<nil>: Invalid value: ${JSON.stringify(key)}: ${found}`)
}

const checkValues = (key: string, values: ReadonlySet<string>): void => {
  for (const [i, value] of [...values].sort().entries()) {
    if (isLabelValue(value)) continue
    const rule =
      value.length > 63
        ? tooLong(63)
        : `a valid label must be an empty string or consist of ${PARTS.slice('must consist of '.length)} 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`
    throw trouble(`values[${i}][${key}]: Invalid value: ${JSON.stringify(value)}: ${rule}`)
  }
}

const orderOf = (operator: '<' | '>', key: string, [text = '']: readonly string[]): LabelMatch => {
  if (!/^[-+]?\d{1,18}$/.test(text))
    throw trouble(
      `values[0]: Invalid value: ${JSON.stringify(text)}: for 'Gt', 'Lt' operators, the value must be an integer`,
    )
  const bound = BigInt(text.replace(/^\+/, ''))
  return labels => {
    const value = labels.get(key)
    if (value === undefined || !/^[-+]?\d{1,18}$/.test(value)) return false
    const found = BigInt(value.replace(/^\+/, ''))
    return operator === '>' ? found > bound : found < bound
  }
}

/** The parser of Kubernetes' own `labels` package, complaint by complaint. */
class Parser {
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(text: string) {
    this.#tokens = cutSelector(text)
  }

  all(): readonly LabelMatch[] {
    const found: LabelMatch[] = []
    for (;;) {
      const { kind, text } = this.#peek()
      if (kind === 'end') return found
      if (kind !== 'word' && kind !== '!')
        throw new LabelSelectorError(`found '${text}', expected: !, identifier, or 'end of string'`)
      if (found.length === MOST_REQUIREMENTS)
        throw new LabelSelectorError(`more than ${MOST_REQUIREMENTS} requirements`)
      found.push(this.#requirement())
      const after = this.#take()
      if (after.kind === 'end') return found
      if (after.kind !== ',')
        throw new LabelSelectorError(`found '${after.text}', expected: ',' or 'end of string'`)
      const next = this.#peek()
      if (next.kind !== 'word' && next.kind !== '!')
        throw new LabelSelectorError(`found '${next.text}', expected: identifier after ','`)
    }
  }

  #peek(): Token {
    return this.#tokens[this.#at]!
  }

  #take(): Token {
    const token = this.#tokens[this.#at]!
    // The end may be taken more than once.
    if (token.kind !== 'end') this.#at++
    return token
  }

  #requirement(): LabelMatch {
    const isNot = this.#peek().kind === '!'
    if (isNot) this.#take()
    const { kind, text: key } = this.#take()
    if (kind !== 'word') throw trouble(`found '${key}', expected: identifier`)
    checkKey(key)
    if (isNot) return labels => labels.get(key) === undefined
    const next = this.#peek().kind
    if (next === 'end' || next === ',') return labels => labels.get(key) !== undefined
    return this.#comparison(key)
  }

  #comparison(key: string): LabelMatch {
    const { kind, text } = this.#take()
    const operator = kind === 'word' ? text : kind
    switch (operator) {
      case 'in':
      case 'notin': {
        const values = this.#values()
        checkValues(key, values)
        const isIn = operator === 'in'
        return labels => values.has(labels.get(key) ?? '\0') === isIn
      }
      case '=':
      case '==':
      case '!=': {
        const values = new Set([this.#value()])
        checkValues(key, values)
        // A missing label satisfies `!=`: it is not that value.
        return labels => values.has(labels.get(key) ?? '\0') === (operator !== '!=')
      }
      case '<':
      case '>':
        return orderOf(operator, key, [this.#value()])
      default:
        throw trouble(`found '${text}', expected: ${OPERATORS}`)
    }
  }

  #value(): string {
    const { kind } = this.#peek()
    if (kind === 'end' || kind === ',') return ''
    const token = this.#take()
    if (token.kind !== 'word') throw trouble(`found '${token.text}', expected: identifier`)
    return token.text
  }

  #values(): ReadonlySet<string> {
    const open = this.#take()
    if (open.kind !== '(') throw trouble(`found '${open.text}' expected: '('`)
    const { kind, text } = this.#peek()
    if (kind === ')') {
      this.#take()
      return new Set([''])
    }
    if (kind !== 'word' && kind !== ',')
      throw trouble(`found '${text}', expected: ',', ')' or identifier`)
    const values = this.#listed()
    const close = this.#take()
    if (close.kind !== ')') throw trouble(`found '${close.text}', expected: ')'`)
    return values
  }

  /** Between the parentheses: an empty place counts as the empty value. */
  #listed(): ReadonlySet<string> {
    const values = new Set<string>()
    for (;;) {
      const { kind, text } = this.#take()
      const next = this.#peek()
      if (kind === 'word') {
        values.add(text)
        if (next.kind === ')') return values
        if (next.kind !== ',') throw trouble(`found '${next.text}', expected: ',' or ')'`)
      } else if (kind === ',') {
        if (values.size === 0) values.add('')
        if (next.kind === ')') return values.add('')
        if (next.kind === ',') {
          this.#take()
          values.add('')
        }
      } else throw trouble(`found '${text}', expected: ',', or identifier`)
    }
  }
}

/**
 * A label selector: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>5`. Empty means everything.
 * @throws LabelSelectorError when it does not parse.
 */
export const parseLabelSelector = (text: string): LabelMatch => {
  const all = new Parser(text).all()
  return labels => all.every(wants => wants(labels))
}

// SPDX-License-Identifier: Apache-2.0

/** A string in a text, from quote to quote. */
export interface Place {
  readonly start: number
  readonly end: number
}

/** What is sought: a string that is a member of a member, or that the operations of a JSON patch put there. */
export interface Sought {
  readonly path: readonly [outer: string, inner: string]
  readonly value: string
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const BRACE = 0x7b
const BRACKET = 0x5b
const CLOSING_BRACE = 0x7d
const CLOSING_BRACKET = 0x5d
/** The longest way to write a character is as an escape. */
const ESCAPE = String.raw`\u0000`.length

const NOWHERE: Place = { start: 0, end: 0 }

/** The index after a string. */
const afterString = (text: string, start: number): number => {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let before = at
    while (text.charCodeAt(before - 1) === BACKSLASH) before--
    if ((at - before) % 2 === 0) return at + 1
  }
  return text.length
}

/** The index after an object or an array. */
const afterNested = (text: string, start: number): number => {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = afterString(text, at) - 1
    else if (code === BRACE || code === BRACKET) depth++
    else if ((code === CLOSING_BRACE || code === CLOSING_BRACKET) && --depth === 0) return at + 1
  }
  return text.length
}

/** Whether the string there means these words. It looks at no more than so many characters. */
const means = (text: string, { start, end }: Place, words: string): boolean => {
  const excess = end - start - 2 - words.length
  if (excess === 0) return text.startsWith(words, start + 1)
  if (excess < 0 || excess > words.length * (ESCAPE - 1)) return false
  const token = text.slice(start, end)
  if (!token.includes('\\')) return false
  try {
    return JSON.parse(token) === words
  } catch {
    return false
  }
}

/**
 * Goes through JSON text once and builds nothing of it. What is nested deeper than two levels is skipped.
 * Text that is no JSON has no places, or meaningless ones.
 */
class Scan {
  readonly places: Place[] = []
  readonly #text: string
  readonly #sought: Sought
  readonly #patched: string
  #depth = 0
  #isPatch = false
  /** Whether the members at the second level may be sought ones. */
  #isInside = false
  #isKey = false
  #outer = NOWHERE
  #inner = NOWHERE
  /** Of the present operation of a patch. */
  #value: Place | undefined
  #isOnPath = false

  constructor(text: string, sought: Sought) {
    this.#text = text
    this.#sought = sought
    this.#patched = `/${sought.path.join('/')}`
  }

  run(): readonly Place[] {
    const text = this.#text
    let at = 0
    while (at < text.length) at = this.#step(at, text.charCodeAt(at))
    return this.#depth === 0 ? this.places : []
  }

  #step(at: number, code: number): number {
    if (code === QUOTE) {
      const end = afterString(this.#text, at)
      this.#string({ start: at, end })
      return end
    }
    if (code === COMMA) this.#isKey = true
    else if (code === BRACE || code === BRACKET) {
      if (this.#depth === 2) return afterNested(this.#text, at)
      this.#open(code === BRACE)
    } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) this.#close()
    return at + 1
  }

  #open(isObject: boolean): void {
    this.#depth++
    this.#isKey = isObject
    if (this.#depth === 1) this.#isPatch = !isObject
    else
      this.#isInside =
        isObject && (this.#isPatch || means(this.#text, this.#outer, this.#sought.path[0]))
    this.#isOnPath = false
  }

  #close(): void {
    if (this.#depth === 2) {
      if (this.#isOnPath && this.#value !== undefined) this.places.push(this.#value)
      this.#value = undefined
      this.#isInside = false
    }
    this.#depth--
  }

  #string(place: Place): void {
    if (this.#depth === 1) this.#outer = place
    if (!this.#isInside) return
    if (this.#isKey) {
      this.#inner = place
      this.#isKey = false
    } else if (this.#isPatch) this.#ofOperation(place)
    else if (this.#is(place) && this.#isNamed(this.#sought.path[1])) this.places.push(place)
  }

  #ofOperation(place: Place): void {
    if (this.#is(place) && this.#isNamed('value')) this.#value = place
    else if (this.#isNamed('path')) this.#isOnPath = means(this.#text, place, this.#patched)
  }

  #is(place: Place): boolean {
    return means(this.#text, place, this.#sought.value)
  }

  #isNamed(name: string): boolean {
    return means(this.#text, this.#inner, name)
  }
}

/** The places of what is sought in JSON text, in order. */
export const placesInJson = (text: string, sought: Sought): readonly Place[] =>
  new Scan(text, sought).run()

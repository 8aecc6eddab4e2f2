// SPDX-License-Identifier: Apache-2.0

const QUANTITY = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/
const DECIMAL: Readonly<Record<string, number>> = {
  n: -3,
  u: -2,
  m: -1,
  k: 1,
  M: 2,
  G: 3,
  T: 4,
  P: 5,
  E: 6,
}
const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

/** The value of a Kubernetes quantity; undefined when it is not one. */
export const amountOf = (value: unknown): number | undefined => {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const [, digits, exponent = '', suffix = ''] = QUANTITY.exec(String(value)) ?? []
  if (digits === undefined) return undefined
  const binary = BINARY.indexOf(suffix)
  // Scaled as text: the same amount in another form is rounded to the same number.
  const power = Number(exponent.slice(1)) + 3 * (DECIMAL[suffix] ?? 0)
  return Number(`${digits}e${power}`) * 1024 ** (binary + 1)
}

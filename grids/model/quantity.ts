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
  const number = Number(`${digits}${exponent}`)
  const binary = BINARY.indexOf(suffix)
  if (binary !== -1) return number * 1024 ** (binary + 1)
  const power = DECIMAL[suffix] ?? 0
  // Division makes 100m exactly equal to 0.1.
  return power < 0 ? number / 1000 ** -power : number * 1000 ** power
}

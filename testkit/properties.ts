// SPDX-License-Identifier: Apache-2.0
import fc from 'fast-check'

/** A run of the tests means the same to everybody: `FC_SEED=N` tries other examples, `FC_RUNS=N` more of them. */
export const numberOf = (name: string): number | undefined => {
  const text = process.env[name]
  if (text === undefined || text === '') return undefined
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${name} must be a whole number, got ${text}`)
  return Number(text)
}

fc.configureGlobal({ seed: numberOf('FC_SEED') ?? 1, numRuns: numberOf('FC_RUNS') ?? 100 })

export default fc

// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import t from 'tap'

interface Mutant {
  readonly fault: string
  readonly patches: readonly { readonly file: string; readonly from: string; readonly to: string }[]
}
// A plain script, as those who run it.
const { MUTANTS } = (await import(new URL('./mutants/list.mjs', import.meta.url).href)) as {
  MUTANTS: readonly Mutant[]
}
const root = new URL('../../', import.meta.url)

t.test('each mutant takes something out that stands at one place', t => {
  t.equal(new Set(MUTANTS.map(({ fault }) => fault)).size, MUTANTS.length, 'one mutant per fault')
  for (const { fault, patches } of MUTANTS)
    for (const { file, from, to } of patches) {
      const places = readFileSync(new URL(file, root), 'utf8').split(from).length - 1
      t.equal(places, 1, `${fault}: ${file}`)
      t.not(from, to, `${fault} changes something`)
    }
  t.end()
})

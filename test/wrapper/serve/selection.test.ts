// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { parseSelection } from '../../../wrapper/serve/selection.js'
import { parseTarget } from '../../../wrapper/serve/target.js'
import type { Stored } from '../../../wrapper/store/stored.js'
import { fromJson } from '../../../wrapper/wire/from-json.js'

const target = parseTarget('/api/v1/services')!

/** Counts how often its bytes are read. */
const service = (type: string) => {
  const raw = fromJson('Service', { metadata: { name: 'web', namespace: 'shop' }, spec: { type } })
  const state = { reads: 0 }
  const record = {
    key: 'shop/web',
    get raw() {
      state.reads++
      return raw
    },
  } as Stored
  return { record, state }
}

const isChosen = (record: Stored, fieldSelector: string): boolean => {
  const { selection } = parseSelection(target, new URLSearchParams({ fieldSelector }))
  return selection!(record, () => new Map())
}

t.test('a record is read once for each field, however many terms name the field', t => {
  const { record, state } = service('ClusterIP')
  const terms = Array.from({ length: 5_000 }, (_, n) => `spec.type!=a${n}`).join(',')
  t.equal(isChosen(record, terms), true)
  t.equal(isChosen(record, `${terms},spec.type!=ClusterIP`), false)
  t.equal(state.reads, 2)
  t.end()
})

t.test('all terms must hold', t => {
  const { record } = service('ClusterIP')
  const cases: [fieldSelector: string, isMet: boolean][] = [
    ['spec.type=ClusterIP', true],
    ['spec.type=NodePort', false],
    ['spec.type=ClusterIP,spec.type==ClusterIP', true],
    ['spec.type=ClusterIP,spec.type=NodePort', false],
    ['spec.type=ClusterIP,spec.type!=ClusterIP', false],
    ['spec.type!=NodePort,metadata.name=web', true],
    ['spec.type!=NodePort,metadata.name=cart', false],
    ['metadata.namespace=shop,metadata.name!=cart', true],
  ]
  for (const [fieldSelector, isMet] of cases)
    t.equal(isChosen(record, fieldSelector), isMet, fieldSelector)
  t.end()
})

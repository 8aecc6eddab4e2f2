// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { amountOf } from '../../../grids/model/quantity.js'

t.test('quantities that are equal', t => {
  const rows: [a: unknown, b: unknown][] = [
    ['1000m', '1'],
    ['100m', '0.1'],
    ['1', 1],
    ['0.5', '.5'],
    ['1.5Gi', '1536Mi'],
    ['1k', '1e3'],
    ['1E3', '1000'],
    ['2M', '2000k'],
    ['1E', '1000P'],
    ['-1', '-1000m'],
    ['500000u', '500m'],
    ['1000n', '1u'],
    ['1T', '1000G'],
    ['1Ki', '1024'],
    ['4.1M', '4100k'],
    ['8.2G', '8200M'],
    ['1.1Ki', '1126400m'],
    ['0.3e-2', '3m'],
  ]
  for (const [a, b] of rows) {
    t.not(amountOf(a), undefined)
    t.equal(amountOf(a), amountOf(b), `${String(a)} is ${String(b)}`)
  }
  for (const [a, b] of [
    ['1M', '1Mi'],
    ['1', '2'],
  ])
    t.not(amountOf(a), amountOf(b))
  for (const text of ['', 'a', '1 Gi', '1gi', '--1', null, true, undefined, {}])
    t.equal(amountOf(text), undefined)
  t.end()
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { Claim, Played } from './cell.js'
import { figuresOf } from './figures.js'

const played = (zone: string, claims: readonly Claim[]): Played => ({
  ...{ zone, cell: 'c', shows: '', seed: 1, ok: true, ms: 0, claims },
  ...{ moments: [], stretches: {}, notes: [], logs: [] },
})
const seen = (ms: number, claim = 'it is seen'): Claim => ({ claim, kind: 'becomes', ok: true, ms })

t.test('nearest rank over the trials of one zone', async t => {
  const trials = Array.from({ length: 100 }, (_, i) => played('N=3 fast', [seen(100 - i)]))
  const [figure, ...more] = figuresOf([...trials, played('N=5 fast', [seen(7)])])
  t.match(figure, { zone: 'N=3 fast', trials: 100, held: 100, p50: 50, p99: 99, max: 100 })
  t.match(more, [{ zone: 'N=5 fast', trials: 1, max: 7 }], 'zones are counted apart')
})

t.test('what failed has no time', async t => {
  const failed = { ...seen(9), ok: false }
  t.match(figuresOf([played('z', [failed]), played('z', [seen(3)])]), [
    { trials: 2, held: 1, p50: 3, max: 3 },
  ])
})

t.test('a claim that is made twice in a cell is counted apart, whoever plays the part', async t => {
  const names = ['edge-1 is seen', 'edge-1 is seen']
  const other = ['edge-2 is seen', 'edge-2 is seen']
  const cells = [names, other].map(list =>
    played(
      'z',
      list.map((name, i) => seen(i, name)),
    ),
  )
  t.match(
    figuresOf(cells).map(({ claim, trials }) => [claim, trials]),
    [
      ['a node is seen', 2],
      ['a node is seen (2)', 2],
    ],
  )
})

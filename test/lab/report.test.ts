// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Report } from './account.js'
import type { Played } from './cell.js'
import { Lab } from './lab.js'
import { parseLabOptions } from './options.js'
import { mergeReports, writeReport } from './report.js'

const entry = { end: 'peers', direction: 'sent', kind: 'request', packets: 1, bytes: 90 } as const

const played = (more: Partial<Played>): Played => ({
  ...{ zone: 'N=2 fast', cell: 'quiet', shows: 'nothing', seed: 1, ok: true, ms: 1_000 },
  ...{ claims: [], moments: [], stretches: {}, notes: [], logs: [] },
  traffic: [{ node: 'edge-1', seconds: 1, entries: [entry] }],
  ...more,
})

const write = (folder: string, cells: readonly Played[]): void =>
  writeReport(folder, { ok: true, runs: [], notPlayed: [], cells })

const cellsIn = (folder: string): readonly Played[] =>
  (JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as Report).cells

const warningsIn = (folder: string): readonly string[] => {
  const html = readFileSync(join(folder, 'index.html'), 'utf8')
  return [...html.matchAll(/not all counted: ([^<]*)</g)].map(([, why]) => why!)
}

const LOST = '7 packets came too fast to be counted'
const LONG = 'edge-2: 1 packets were longer than a network card sends'

t.test('sums of bytes that may be short say so, in the JSON and on the page', async t => {
  const folder = t.testdir()
  write(folder, [played({ uncounted: [LOST, 'a < b'] }), played({ uncounted: [] }), played({})])
  t.strictSame(
    cellsIn(folder).map(({ uncounted }) => uncounted),
    [[LOST, 'a < b'], [], undefined],
  )
  t.strictSame(warningsIn(folder), [LOST, 'a &#60; b'])
  write(folder, [played({ uncounted: [LOST], traffic: [] })])
  t.strictSame(warningsIn(folder), [], 'where there are no sums, none is short')
})

t.test('of several runs only the cells of that which missed some say so', async t => {
  const dir = t.testdir({ a: {}, b: {}, all: {} })
  const [a, b, all] = ['a', 'b', 'all'].map(name => join(dir, name)) as [string, string, string]
  write(a, [played({ uncounted: [LONG] })])
  write(b, [played({ uncounted: [] })])
  mergeReports([a, b], all)
  t.strictSame(
    cellsIn(all).map(({ uncounted }) => uncounted),
    [[LONG], []],
  )
  t.strictSame(warningsIn(all), [LONG])
})

/** A lab whose parts end at once. */
const labWith = (meter: object | undefined): Lab => {
  const part = { stop: () => Promise.resolve(), close: () => Promise.resolve(), dir: '' }
  const parts = { plane: part, observer: part, proxies: part, webhook: part, stranger: part }
  const rest = { nodes: [], keys: { primary: '' }, kubeletTokens: new Map(), meter }
  return new Lab(parseLabOptions([]), { ...parts, ...rest } as never)
}

t.test('a lab that ends says what its meter missed', async t => {
  const meter = { close: () => Promise.resolve([LOST]) }
  t.strictSame(await labWith(meter).stop(), [LOST])
  t.strictSame(await labWith(undefined).stop(), [], 'where nobody counts nothing is missed')
})

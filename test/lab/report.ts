// SPDX-License-Identifier: Apache-2.0
// The lab's account: one JSON, and one HTML page. Accounts of several runs can be put together.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Report } from './account.js'
import { type WriteTally, WriteTallies } from './audit.js'
import { figuresOf } from './figures.js'
import { drawPicture } from './grids/unit-picture.js'
import { drawReport } from './report-page.js'

/** Write `index.html`, `report.json`, and a picture for each cell with units into the folder. */
export const writeReport = (folder: string, account: Omit<Report, 'figures'>): void => {
  const report: Report = { ...account, figures: figuresOf(account.cells) }
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'index.html'), drawReport(report))
  for (const { cell, seed, units = [], moments, ms } of report.cells)
    if (units.length > 0)
      writeFileSync(join(folder, `${cell}-${seed}.svg`), drawPicture(units, moments, ms))
  writeFileSync(join(folder, 'report.json'), `${JSON.stringify(report, undefined, 1)}\n`)
}

/** One account of all that was played in these runs. @returns what all of them counted by the audit log. @throws Error when a folder has no report of ours. */
export const mergeReports = (folders: readonly string[], into: string): readonly WriteTally[] => {
  const all = folders.map(
    folder => JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as Report,
  )
  writeReport(into, {
    ok: all.every(report => report.ok),
    runs: all.flatMap(report => report.runs),
    notPlayed: [...new Set(all.flatMap(report => report.notPlayed))],
    cells: all.flatMap(report => report.cells),
  })
  const tallies = new WriteTallies()
  for (const tally of all.flatMap(({ runs }) => runs.flatMap(({ writes = [] }) => writes)))
    tallies.addTally(tally)
  return tallies.all
}

// SPDX-License-Identifier: Apache-2.0
// Takes the repair of each known fault out, one at a time, in a copy of the sources, and lets the adversary play until
// it finds the fault again: first the seeds that found it before, then all from --seed on. A breach that the sources
// as they are show at the same seed does not count. Prints how many sequences that took and which guard saw it.
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { makeSingleFile } from '../../testkit/single-file.mjs'
import { MUTANTS } from './mutants/list.mjs'

const HELP = `usage: node test/adversary/mutants.mjs [options]

  --sequences N   how many are played against a mutant that its own seeds do not show; default 500
  --seed N        the first of them; default 1
  --jobs N        mutants at a time; default 2
  --only LIST     these alone, as in A1,A7
`

const { values } = parseArgs({
  options: {
    sequences: { type: 'string', default: '500' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '2' },
    only: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(HELP)
  process.exit(0)
}
/** As many are to be found. */
const LEAST = 20

setPriority(10)
const root = join(import.meta.dirname, '..', '..')
const folders = [
  ...['core', 'vote', 'plan', 'plugins', 'net', 'kube', 'options'],
  ...['agent', 'sandbox', 'testkit', 'test'],
]
const ENTRY = 'test/adversary/main.ts'
const work = join(root, '.cache', `mutants-${process.pid}`)
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))

/** Replace one place of one file. Anything but one place is an error: the source has moved on, the mutant must too. */
const apply = (folder, { fault, file, from, to }) => {
  const path = join(folder, file)
  const text = readFileSync(path, 'utf8')
  const places = text.split(from).length - 1
  if (places !== 1) throw new Error(`${fault}: ${file} has ${places} places like\n${from}`)
  writeFileSync(
    path,
    text.replace(from, () => to),
  )
}

const makeCopy = async mutant => {
  const folder = join(work, mutant.fault)
  mkdirSync(folder, { recursive: true })
  for (const name of folders) cpSync(join(root, name), join(folder, name), { recursive: true })
  for (const patch of mutant.patches) apply(folder, { fault: mutant.fault, ...patch })
  const outfile = join(work, `${mutant.fault}.mjs`)
  await makeSingleFile(join(folder, ENTRY), outfile)
  rmSync(folder, { recursive: true, force: true })
  return outfile
}

/** @returns how many sequences were played, and what they broke, as `seed:guard`. */
const play = (outfile, args) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [outfile, '--no-shrink', ...args], {
      ...{ cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
    })
    let sequences = 0
    let breaches = []
    let isFinished = false
    createInterface({ input: child.stdout }).on('line', line => {
      sequences = Number(/^(\d+) sequences$/.exec(line)?.[1] ?? sequences)
      breaches = /^breaches: (.*)$/.exec(line)?.[1].split(',') ?? breaches
      isFinished ||= /^\d+ passed, \d+ failed$/.test(line)
    })
    child.on('error', reject)
    child.on('close', code => {
      if (isFinished) resolve({ sequences, breaches })
      else reject(new Error(`the adversary ended with ${code} and said nothing`))
    })
  })

/** Play seeds until something breaks that holds without the mutant. */
const find = async (outfile, unchanged, seeds) => {
  const known = []
  let played = 0
  for (;;) {
    const except = ['--except', known.join()]
    const args = [...seeds, ...except, '--until-broken']
    const { sequences, breaches } = await play(outfile, args)
    played = Math.max(played, sequences)
    if (breaches.length === 0) return { played }
    const [seed] = breaches[0].split(':')
    const without = await play(unchanged, ['--sequences', '1', '--seed', seed])
    const own = breaches.filter(breach => !without.breaches.includes(breach))
    if (own.length > 0) return { played, seed, guard: own[0].split(':')[1] }
    known.push(...breaches)
  }
}

const search = async ({ outfile, mutant: { seeds = [] } }, unchanged) => {
  const before =
    seeds.length === 0 ? { played: 0 } : await find(outfile, unchanged, ['--seeds', seeds.join()])
  if (before.guard !== undefined) return before
  const all = ['--sequences', values.sequences, '--seed', values.seed]
  const found = await find(outfile, unchanged, all)
  return { ...found, played: before.played + found.played }
}

const wanted = values.only?.split(',')
const unknown = wanted?.find(name => !MUTANTS.some(({ fault }) => fault === name))
if (unknown !== undefined) {
  console.error(
    `--only must name faults of ${MUTANTS.map(({ fault }) => fault).join(', ')}, got ${unknown}`,
  )
  process.exit(2)
}
const chosen = MUTANTS.filter(({ fault }) => wanted?.includes(fault) ?? true)
// Every mutant applies, or nothing is played.
const ready = []
for (const mutant of chosen) ready.push({ mutant, outfile: await makeCopy(mutant) })
const unchanged = join(work, 'unchanged.mjs')
await makeSingleFile(join(root, ENTRY), unchanged)

const startedAt = performance.now()
console.log(
  `${'fault'.padEnd(7)}${'sequences'.padStart(10)}${'seed'.padStart(7)}  ${'guard'.padEnd(16)}what was taken out`,
)
let found = 0
const tell = ({ fault, what, outOfReach }, { played, seed = '', guard = 'not found' }) => {
  const why = outOfReach === undefined ? '' : `; out of reach: ${outOfReach}`
  const counts = `${fault.padEnd(7)}${String(played).padStart(10)}${seed.padStart(7)}`
  console.log(`${counts}  ${guard.padEnd(16)}${what}${why}`)
}
const queue = [...ready]
const worker = async () => {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { mutant } = next
    const isPlayed = mutant.outOfReach === undefined
    const result = isPlayed ? await search(next, unchanged) : { played: 0, guard: 'not played' }
    if (isPlayed && result.guard !== undefined) found++
    tell(mutant, result)
  }
}
await Promise.all(Array.from({ length: Number(values.jobs) }, worker))
const least = wanted === undefined ? Math.min(LEAST, chosen.length) : chosen.length
const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
console.log(
  `${found} of ${chosen.length} found again in ${minutes} min, at least ${least} are to be`,
)
process.exitCode = found >= least ? 0 : 1

// SPDX-License-Identifier: Apache-2.0
// Takes the repair of each known fault out, one at a time, in a copy of the sources, and lets the adversary play until
// it finds the fault again. Prints how many sequences that took and which guard saw it.
//   node test/adversary/mutants.mjs [--sequences N] [--seed N] [--jobs N] [--only A1,A7]
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { bundle } from './bundle.mjs'
import { MUTANTS } from './mutants/list.mjs'

const { values } = parseArgs({
  options: {
    sequences: { type: 'string', default: '800' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '2' },
    only: { type: 'string' },
  },
})
/** As many are to be found. */
const LEAST = 20

setPriority(10)
const root = join(import.meta.dirname, '..', '..')
const folders = [
  ...['core', 'vote', 'plan', 'plugins', 'net', 'kube', 'options'],
  ...['agent', 'sandbox', 'testkit', 'test'],
]
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
  await bundle(folder, outfile)
  rmSync(folder, { recursive: true, force: true })
  return outfile
}

/** Breaches of the sources as they are: what the adversary finds there is no mutant's doing. */
const playUnchanged = async () => {
  const outfile = join(work, 'unchanged.mjs')
  await bundle(root, outfile)
  const args = [outfile, '--no-shrink', '--sequences', values.sequences, '--seed', values.seed]
  const child = spawn(process.execPath, [...args, '--jobs', values.jobs], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let known = ''
  createInterface({ input: child.stdout }).on('line', line => {
    known = /^breaches: (.*)$/.exec(line)?.[1] ?? known
  })
  await new Promise(resolve => child.on('close', resolve))
  return known
}

/** @returns after how many sequences a guard was broken, and which; `guard` is undefined where none was. */
const play = (outfile, known) =>
  new Promise((resolve, reject) => {
    const args = [
      outfile,
      '--until-broken',
      '--except',
      known,
      '--sequences',
      values.sequences,
      '--seed',
      values.seed,
    ]
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
    let sequences
    let found
    let isWhole = false
    createInterface({ input: child.stdout }).on('line', line => {
      sequences ??= /^(\d+) sequences$/.exec(line)?.[1]
      found ??= /^seed (\d+): .* \(([a-z-]+)\)$/.exec(line)
      isWhole ||= /^\d+ passed, \d+ failed$/.test(line)
    })
    child.on('error', reject)
    child.on('close', code => {
      if (isWhole) resolve({ sequences, seed: found?.[1], guard: found?.[2] })
      else reject(new Error(`the adversary ended with ${code} and said nothing`))
    })
  })

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

const known = await playUnchanged()
if (known !== '') console.log(`without a mutant these break, and do not count: ${known}`)
console.log(
  `${'fault'.padEnd(7)}${'sequences'.padStart(10)}${'seed'.padStart(7)}  ${'guard'.padEnd(16)}what was taken out`,
)
let found = 0
const queue = [...ready]
const worker = async () => {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { fault, what } = next.mutant
    const { sequences, seed = '', guard } = await play(next.outfile, known)
    if (guard !== undefined) found++
    const shown = [
      fault.padEnd(7),
      String(sequences).padStart(10),
      seed.padStart(7),
      '  ',
      (guard ?? 'not found').padEnd(16),
    ]
    console.log(`${shown.join('')}${what}`)
  }
}
await Promise.all(Array.from({ length: Number(values.jobs) }, worker))
const least = wanted === undefined ? Math.min(LEAST, chosen.length) : chosen.length
console.log(`${found} of ${chosen.length} found again, at least ${least} are to be`)
process.exitCode = found >= least ? 0 : 1

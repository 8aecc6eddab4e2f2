// SPDX-License-Identifier: Apache-2.0
// Plays the adversary's sequences on as many threads as asked for, and prints what was done, looked at and found.
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { GUARDS } from './guards/words.js'
import { describe, playSeeds, shrink, type Report } from './run.js'
import { SIGNING, type Signing } from './zone.js'
import { mergeReports, tableOf, tooFew } from './table.js'

const HELP = `usage: node test/adversary/run.mjs [options]
An adversary plays against zones of agents in virtual time; its sequences are drawn from seeds.

  --sequences N    how many; default 500
  --seed N         the first seed; the others follow; default 1. With --sequences 1 a seed that was printed is replayed
  --seeds LIST     these instead, as in 104,266
  --minutes N      begin nothing more after so long; what was played by then counts
  --jobs N         threads; default 1
  --identity MODE  how agents sign: off, prefer, require, or mixed, which is every other one off and the rest prefer;
                   default as agents do unasked
  --until-broken   end with the first breach of a guard
  --except LIST    breaches that do not count, as in 104:patient,266:dead-cleared
  --no-shrink      print failures as they came, not in their smallest form
`

interface Order {
  readonly seeds: readonly number[]
  readonly untilBroken: boolean
  readonly except: readonly string[]
  readonly identity: Signing | undefined
  /** In epoch ms: no sequence begins after it. */
  readonly endsAt: number
}

const say = (text: string): boolean => process.stdout.write(`${text}\n`)

const numberOf = (name: string, text: string): number => {
  if (/^\d{1,9}$/.test(text) && Number(text) > 0) return Number(text)
  process.stderr.write(`--${name} must be a whole number above 0, got ${text}\n`)
  process.exit(2)
}

const signingOf = (text: string | undefined): Signing | undefined => {
  const found = SIGNING.find(each => each === text)
  if (found !== undefined || text === undefined) return found
  process.stderr.write(`--identity must be one of ${SIGNING.join(', ')}, got ${text}\n`)
  process.exit(2)
}

function* whileThereIsTime(seeds: readonly number[], endsAt: number): Generator<number> {
  for (const seed of seeds) {
    if (Date.now() > endsAt) return
    yield seed
  }
}

const work = ({ seeds, untilBroken, except, identity, endsAt }: Order): Promise<Report> =>
  playSeeds(whileThereIsTime(seeds, endsAt), { isEnough: () => untilBroken, except, identity })

/** A thread plays so many and ends: what thousands of zones leave behind in V8 makes each further one slower. */
const BATCH = 250

const inOneThread = (order: Order): Promise<Report> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: order })
    worker.once('message', resolve)
    worker.once('error', reject)
  })

/** One thread after the other. */
const inThreads = async (order: Order, progress: (played: number) => void): Promise<Report> => {
  const reports: Report[] = []
  for (let from = 0; from < order.seeds.length; from += BATCH) {
    if (Date.now() > order.endsAt) break
    const seeds = order.seeds.slice(from, from + BATCH)
    const report = await inOneThread({ ...order, seeds })
    reports.push(report)
    progress(report.sequences)
    if (order.untilBroken && report.failures.length > 0) break
  }
  return mergeReports(reports)
}

/** Breaches, each in its smallest form, and acts that came too seldom: how many things are wrong. */
const sayReport = async (
  report: Report,
  checksVariety: boolean,
  smallest: (failure: Report['failures'][number]) => Promise<Report['failures'][number]>,
): Promise<number> => {
  say(tableOf(report))
  if (report.breaches.length > 0) say(`breaches: ${report.breaches.join(',')}`)
  for (const failure of report.failures) say(describe(await smallest(failure)))
  const few = checksVariety ? tooFew(report) : []
  for (const name of few) say(`too few of ${name}`)
  return report.failures.length + few.length
}

const readArguments = () => {
  try {
    return parseArgs({
      options: {
        sequences: { type: 'string', default: '500' },
        seed: { type: 'string', default: '1' },
        seeds: { type: 'string' },
        minutes: { type: 'string' },
        jobs: { type: 'string', default: '1' },
        'until-broken': { type: 'boolean', default: false },
        except: { type: 'string', default: '' },
        identity: { type: 'string' },
        'no-shrink': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`)
    process.exit(2)
  }
}

const main = async (): Promise<void> => {
  const values = readArguments()
  if (values.help) {
    say(HELP)
    return
  }
  const first = numberOf('seed', values.seed)
  const following = numberOf('sequences', values.sequences)
  const seeds =
    values.seeds?.split(',').map(text => numberOf('seeds', text)) ??
    Array.from({ length: following }, (_, place) => first + place)
  const jobs = numberOf('jobs', values.jobs)
  const identity = signingOf(values.identity)
  const minutes = values.minutes === undefined ? Infinity : numberOf('minutes', values.minutes)
  const endsAt = Date.now() + minutes * 60_000
  const orders = Array.from({ length: jobs }, (_, job): Order => {
    return {
      seeds: seeds.filter((_, place) => place % jobs === job),
      untilBroken: values['until-broken'],
      except: values.except.split(','),
      identity,
      endsAt,
    }
  })
  let ended = 0
  const progress = (more: number): void => {
    ended += more
    if (seeds.length > BATCH) say(`${ended} of ${seeds.length} played`)
  }
  const reports = await Promise.all(orders.map(order => inThreads(order, progress)))
  const report = mergeReports(reports)
  if (ended < seeds.length && Date.now() > endsAt)
    say(`${minutes} minutes were given: ${ended} of ${seeds.length} sequences were played`)
  // A few sequences cannot have everything.
  const checksVariety = ended >= 500
  const isShrunk = !values['until-broken'] && !values['no-shrink']
  const failed = await sayReport(report, checksVariety, failure =>
    isShrunk ? shrink(...failure, identity) : Promise.resolve(failure),
  )
  const checks = Object.keys(GUARDS).length + (checksVariety ? 1 : 0)
  process.exitCode = failed > 0 ? 1 : 0
  say(`${Math.max(0, checks - failed)} passed, ${failed} failed`)
}

if (isMainThread) await main()
else parentPort!.postMessage(await work(workerData as Order))

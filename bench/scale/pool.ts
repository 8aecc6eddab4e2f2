// SPDX-License-Identifier: Apache-2.0
import { totalmem } from 'node:os'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { costOf, measure, type Job, type Measured } from './job.js'

/** Run jobs that the main thread sends; only in a thread that `runJobs` started. @returns whether this is one. */
export const isWorking = (): boolean => {
  if (isMainThread || parentPort === null) return false
  const port = parentPort
  port.on('message', (job: Job) => void measure(job).then(result => port.postMessage(result)))
  return true
}

/** Of the machine's memory, for all threads. */
const MEMORY_SHARE = 0.75

interface Shift {
  readonly jobs: readonly Job[]
  readonly oldGenerationMb: number
  readonly done: (place: number, result: Measured) => void
}

/** Hand out jobs until there are none. */
const serve = (
  program: URL,
  next: () => number | undefined,
  { jobs, oldGenerationMb, done }: Shift,
): Promise<void> =>
  new Promise((resolve, reject) => {
    // Mostly short-lived objects: a large nursery saves a tenth of the time.
    const limits = {
      maxYoungGenerationSizeMb: 128,
      maxOldGenerationSizeMb: oldGenerationMb,
    }
    const worker = new Worker(program, { resourceLimits: limits })
    let place: number | undefined
    const go = (): void => {
      place = next()
      if (place === undefined) {
        resolve()
        void worker.terminate()
      } else worker.postMessage(jobs[place])
    }
    worker.on('message', (result: Measured) => {
      done(place!, result)
      go()
    })
    worker.on('error', reject)
    go()
  })

/**
 * Run all jobs on so many threads of `program`, the longest first. Each job is a zone of its own with its own seed, so
 * the results do not depend on the number of threads.
 * @param onDone is called with a job's place among them, and its result
 */
export const runJobs = async (
  program: URL,
  jobs: readonly Job[],
  { threads, onDone }: { threads: number; onDone: (place: number, result: Measured) => void },
): Promise<void> => {
  const order = [...jobs.keys()].sort((a, b) => costOf(jobs[b]!) - costOf(jobs[a]!))
  const width = Math.min(threads, jobs.length)
  const next = (): number | undefined => order.shift()
  // V8's own limit is 4 GB, in which a zone of a thousand agents spends most of its time on collecting garbage.
  const oldGenerationMb = Math.floor((MEMORY_SHARE * totalmem()) / 2 ** 20 / width)
  await Promise.all(
    Array.from({ length: width }, () =>
      serve(program, next, { jobs, oldGenerationMb, done: onDone }),
    ),
  )
}

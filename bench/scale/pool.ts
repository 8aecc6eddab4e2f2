// SPDX-License-Identifier: Apache-2.0
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { costOf, measure, type Job, type Measured } from './job.js'

/** Run jobs that the main thread sends; only in a thread that `runJobs` started. @returns whether this is one. */
export const isWorking = (): boolean => {
  if (isMainThread || parentPort === null) return false
  const port = parentPort
  port.on('message', (job: Job) => void measure(job).then(result => port.postMessage(result)))
  return true
}

/** Hand out jobs until there are none. */
const serve = (
  program: URL,
  next: () => number | undefined,
  { jobs, done }: { jobs: readonly Job[]; done: (place: number, result: Measured) => void },
): Promise<void> =>
  new Promise((resolve, reject) => {
    // Mostly short-lived objects: a large nursery saves a tenth of the time.
    const worker = new Worker(program, { resourceLimits: { maxYoungGenerationSizeMb: 128 } })
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
 * @returns in the order of the jobs.
 */
export const runJobs = async (
  program: URL,
  jobs: readonly Job[],
  { threads, onDone }: { threads: number; onDone: (job: Job) => void },
): Promise<Measured[]> => {
  const results: Measured[] = []
  const order = [...jobs.keys()].sort((a, b) => costOf(jobs[b]!) - costOf(jobs[a]!))
  const done = (place: number, result: Measured): void => {
    results[place] = result
    onDone(jobs[place]!)
  }
  const width = Math.min(threads, jobs.length)
  const next = (): number | undefined => order.shift()
  await Promise.all(Array.from({ length: width }, () => serve(program, next, { jobs, done })))
  return results
}

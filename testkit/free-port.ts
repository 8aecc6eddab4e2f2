// SPDX-License-Identifier: Apache-2.0
import { createServer } from 'node:net'
import { systemRandom } from '../core/random.js'

/** Below the ports that the kernel gives to connections that go out: one of those may take a port before we listen. */
const FIRST = 20_000
const COUNT = 10_000
const TRIES = 100

const isFree = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })

/** A TCP port of 127.0.0.1 on which nobody listened a moment ago. */
export const freePort = async (): Promise<number> => {
  for (let i = 0; i < TRIES; i++) {
    const port = FIRST + systemRandom.below(COUNT)
    if (await isFree(port)) return port
  }
  throw new Error(`no free port of 127.0.0.1 was found in ${TRIES} tries from ${FIRST} on`)
}

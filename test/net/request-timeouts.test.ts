// SPDX-License-Identifier: Apache-2.0
import type { RequestListener } from 'node:http'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { type Clock, systemClock } from '../../core/clock.js'
import { settle } from '../../testkit/fake-clock.js'
import { openListener } from '../../testkit/http/open-listener.js'

const HEAD = 'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nConnection: close\r\n\r\n'

/** As the machine's, but its timers are due when the test says so. */
class HeldClock implements Clock {
  readonly now = (): number => systemClock.now()
  readonly boot = (): number => systemClock.boot()
  readonly wall = (): number => systemClock.wall()
  readonly due = new Set<() => void>()

  after(ms: number, wake: () => void): () => void {
    if (ms <= 0) return systemClock.after(ms, wake)
    this.due.add(wake)
    return () => void this.due.delete(wake)
  }
}

const answerOf = (socket: Socket): Promise<string> =>
  new Promise(resolve => {
    let got = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => (got += chunk))
    socket.on('error', () => undefined).on('close', () => resolve(got))
  })

t.test(
  'what arrived while the process stood still is served, although its time is over',
  async t => {
    const clock = new HeldClock()
    let begun = 0
    const handle: RequestListener = (request, response) => {
      begun++
      request.resume().on('end', () => response.end('done'))
    }
    const listener = await openListener({ handle }, { clock })
    t.teardown(() => listener.close())
    const sockets = Array.from({ length: 4 }, () => connect(listener.port, '127.0.0.1'))
    const answers = sockets.map(answerOf)
    const [headLate, bodyLate, headNever, bodyNever] = sockets as [Socket, Socket, Socket, Socket]
    for (const socket of [bodyLate, bodyNever]) socket.write(HEAD)
    while (clock.due.size < 4 || begun < 2) await settle()
    // Timers come before input in each turn of Node's event loop.
    await new Promise<void>(resolve => {
      setTimeout(() => {
        headLate.write(`${HEAD}body`)
        bodyLate.write('body')
        headNever.write('POST / HTTP/1.1\r\n')
        bodyNever.write('bod')
        for (const wake of clock.due) wake()
        resolve()
      }, 0)
    })
    t.match(await Promise.all(answers), [
      / 200 [^]*done/,
      / 200 [^]*done/,
      /^HTTP\/1\.1 408 /,
      /^HTTP\/1\.1 408 /,
    ])
  },
)

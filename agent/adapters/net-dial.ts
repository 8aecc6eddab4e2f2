// SPDX-License-Identifier: Apache-2.0
import { connect } from 'node:net'
import type { Dial } from '../../core/dial.js'

/**
 * TCP over `node:net`. The connection ends with a reset, so that a thousand probes leave neither open sockets nor
 * ports in TIME_WAIT.
 */
export const netDial: Dial = {
  connect: (host, port, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error)
        return
      }
      let failed: Error | undefined
      const socket = connect({ host, port, autoSelectFamily: false })
      const cut = (): void => {
        failed = signal.reason as Error
        socket.destroy()
      }
      signal.addEventListener('abort', cut, { once: true })
      socket.once('connect', () => socket.resetAndDestroy())
      // Our own reset may come back as an error; one that comes before `connect` is the answer.
      socket.once('error', error => (failed ??= error))
      socket.once('close', () => {
        signal.removeEventListener('abort', cut)
        if (failed === undefined) resolve()
        else reject(failed)
      })
    }),
}

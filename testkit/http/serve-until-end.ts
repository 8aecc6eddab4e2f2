// SPDX-License-Identifier: Apache-2.0
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** Let the server listen on a free port of 127.0.0.1 until the test ends. @returns the port */
export const serveUntilEnd = async (t: Pick<Test, 'teardown'>, server: Server): Promise<number> => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    const closed = new Promise(resolve => server.close(resolve))
    server.closeAllConnections()
    await closed
  })
  return (server.address() as AddressInfo).port
}

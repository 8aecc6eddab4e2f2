// SPDX-License-Identifier: Apache-2.0
import net, { type AddressInfo, type Socket } from 'node:net'

/** A link to a server that can go silent without closing anything. */
export interface TcpLink {
  readonly port: number
  /** Connections so far, and those that are open now. */
  readonly connections: number
  readonly open: number
  /** From now on nothing passes, in either direction. New connections are accepted all the same. */
  freeze(): void
  /** What was held back goes on its way, and all that follows. */
  thaw(): void
  close(): void
}

/** A link on loopback to a port on loopback. */
export const startLink = async (target: number): Promise<TcpLink> => {
  const sockets = new Set<Socket>()
  const held: (() => void)[] = []
  let isFrozen = false
  let connections = 0
  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from)
    from.on('error', () => undefined)
    from.on('data', bytes => {
      const go = (): void => void to.write(bytes)
      if (isFrozen) held.push(go)
      else go()
    })
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
  }
  const server = net.createServer(here => {
    connections++
    const there = net.connect(target, '127.0.0.1')
    pass(here, there)
    pass(there, here)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections
    },
    get open() {
      return sockets.size / 2
    },
    freeze: () => {
      isFrozen = true
    },
    thaw: () => {
      isFrozen = false
      for (const go of held.splice(0)) go()
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

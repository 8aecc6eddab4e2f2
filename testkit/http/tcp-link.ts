// SPDX-License-Identifier: Apache-2.0
import net, { type AddressInfo, type Socket } from 'node:net'

/** A link to a server that can go silent without closing anything. */
export interface TcpLink {
  readonly port: number
  /** Connections so far, and those that are open now. */
  readonly connections: number
  readonly open: number
  /** From now on nothing passes to the server, nor back unless it is said so. New connections are accepted all the same. */
  freeze(ways?: 'both' | 'there'): void
  /** What was held back goes on its way, and all that follows. */
  thaw(): void
  /** The connections that are open now are dead: what goes over them is lost. New ones are well. */
  lose(): void
  close(): void
}

/** A link on loopback to a port on loopback. */
export const startLink = async (target: number): Promise<TcpLink> => {
  const sockets = new Set<Socket>()
  const dead = new WeakSet<Socket>()
  const held: (() => void)[] = []
  let frozen: 'neither' | 'both' | 'there' = 'neither'
  let connections = 0
  const pass = (way: 'there' | 'back', from: Socket, to: Socket): void => {
    sockets.add(from)
    from.on('error', () => undefined)
    from.on('data', bytes => {
      if (dead.has(from)) return
      const go = (): void => void to.write(bytes)
      if (frozen === 'both' || frozen === way) held.push(go)
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
    pass('there', here, there)
    pass('back', there, here)
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
    freeze: (ways = 'both') => {
      frozen = ways
    },
    thaw: () => {
      frozen = 'neither'
      for (const go of held.splice(0)) go()
    },
    lose: () => {
      for (const socket of sockets) dead.add(socket)
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

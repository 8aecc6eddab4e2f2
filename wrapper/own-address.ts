// SPDX-License-Identifier: Apache-2.0
import { canonicalAddress, hostOf } from '../core/address.js'
import { InvalidInputError } from '../core/errors.js'
import { isLoopback } from '../core/loopback.js'
import type { ListenAddress } from '../options/kinds.js'
import type { WrapperOptions } from './options/wrapper-options.js'

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }
/** Listeners on these hear all addresses of the machine. */
const ANY: readonly unknown[] = ['0.0.0.0', '::']
const LOCALHOST: readonly unknown[] = ['127.0.0.1', '::1']

const isAt = (server: URL, { host, port }: ListenAddress): boolean => {
  const asked = server.port === '' ? DEFAULT_PORTS[server.protocol] : Number(server.port)
  if (asked !== port) return false
  const name = canonicalAddress(hostOf(server)) ?? hostOf(server)
  const own = canonicalAddress(host)
  if (ANY.includes(own)) return name === 'localhost' || isLoopback(name)
  return name === own || (name === 'localhost' && LOCALHOST.includes(own))
}

/**
 * A request would go round until no connection is left: kube-proxy's kubeconfig, for one, names the wrapper already.
 * @throws InvalidInputError when the apiserver's address is one of the wrapper's own listeners
 */
export const refuseOwnAddress = (
  server: URL,
  { bindAddress, statusAddress }: Pick<WrapperOptions, 'bindAddress' | 'statusAddress'>,
): void => {
  const listeners = { '--bind-address': bindAddress, '--status-address': statusAddress }
  for (const [flag, at] of Object.entries(listeners)) {
    if (!isAt(server, at)) continue
    const { host, port } = at
    const shown = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
    throw new InvalidInputError(
      "the apiserver's address",
      `must not be the wrapper's own ${flag} ${shown}`,
      server.origin,
    )
  }
}

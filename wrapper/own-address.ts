// SPDX-License-Identifier: Apache-2.0
import { canonicalAddress, hostOf } from '../core/address.js'
import { InvalidInputError, reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
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

type Listening = Pick<WrapperOptions, 'bindAddress' | 'statusAddress'>

/**
 * A request would go round until no connection is left: kube-proxy's kubeconfig, for one, names the wrapper already.
 * @throws InvalidInputError when the apiserver's address is one of the wrapper's own listeners
 */
export const refuseOwnAddress = (server: URL, { bindAddress, statusAddress }: Listening): void => {
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

/** Looks at each new text of the kubeconfig while the wrapper runs: it may have been edited for kube-proxy, which shares it. */
export class ServerGuard {
  readonly #options: Listening & Pick<WrapperOptions, 'kubeconfig'>
  readonly #log: Logger
  /** Why the kubeconfig as it is now is not used; undefined: it is. */
  trouble: string | undefined

  constructor(options: Listening & Pick<WrapperOptions, 'kubeconfig'>, log: Logger) {
    this.#options = options
    this.#log = log
  }

  readonly mayUse = (server: URL): boolean => {
    const trouble = this.#troubleOf(server)
    if (trouble !== undefined && trouble !== this.trouble)
      this.#log.error('the kubeconfig is refused; the last good one stays in use', {
        error: trouble,
      })
    if (trouble === undefined && this.trouble !== undefined)
      this.#log.info('the kubeconfig is used again')
    this.trouble = trouble
    return trouble === undefined
  }

  #troubleOf(server: URL): string | undefined {
    try {
      refuseOwnAddress(server, this.#options)
      return undefined
    } catch (error) {
      return `kubeconfig ${this.#options.kubeconfig}: ${reasonOf(error)}`
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
import { isIP, SocketAddress } from 'node:net'

const MAPPED = '::ffff:'

/**
 * The one spelling of an IP address, as the kernel has it: IPv6 in lower case with its zeros left out, IPv4 never as IPv6
 * (`::ffff:10.0.0.1`). Two addresses are the same if their spellings here are equal. Undefined when the text is not an IP address.
 */
export const canonicalAddress = (text: string): string | undefined => {
  const version = isIP(text)
  // SocketAddress drops the scope of a link-local address (`%eth0`).
  if (version !== 6 || text.includes('%')) return version === 0 ? undefined : text.toLowerCase()
  const { address } = new SocketAddress({ address: text, family: 'ipv6' })
  const isMapped = address.startsWith(MAPPED) && address.includes('.')
  return isMapped ? address.slice(MAPPED.length) : address
}

/** The host of a URL as sockets take it: an IPv6 address without its brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

// SPDX-License-Identifier: Apache-2.0

/** Whether an IP address is this machine's alone, also IPv4 written as IPv6, as sockets have it. */
export const isLoopback = (address: string): boolean =>
  address === '::1' || /^(?:::ffff:)?127\./.test(address)

const hostOf = (header: string): string => {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:]*))(?::\d{1,5})?$/i.exec(header)
  return (match?.[1] ?? match?.[2] ?? '').toLowerCase()
}

/**
 * Whether a Host header names this machine: its loopback, or the address that is listened on. A page from elsewhere
 * whose name was rebound to 127.0.0.1 still sends its own name.
 */
export const namesThisHost = (header: string, boundAddress: string): boolean => {
  const host = hostOf(header)
  const isLoopbackName =
    host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
  return isLoopbackName || host === boundAddress.toLowerCase()
}

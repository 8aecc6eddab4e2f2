// SPDX-License-Identifier: Apache-2.0

/** Whether an IP address is loopback, also as IPv4 mapped to IPv6, the form that sockets report. */
export const isLoopback = (address: string): boolean =>
  address === '::1' || /^(?:::ffff:)?127\./.test(address)

const hostOf = (header: string): string => {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:]*))(?::\d{1,5})?$/i.exec(header)
  return (match?.[1] ?? match?.[2] ?? '').toLowerCase()
}

/**
 * Whether a Host header names this machine: loopback, or the address that is listened on. A web page whose DNS name was
 * rebound to 127.0.0.1 still sends its own name.
 */
export const namesThisHost = (header: string, boundAddress: string): boolean => {
  const host = hostOf(header)
  const isLoopbackName =
    host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
  return isLoopbackName || host === boundAddress.toLowerCase()
}

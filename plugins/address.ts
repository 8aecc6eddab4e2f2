// SPDX-License-Identifier: Apache-2.0

/** An IP address as a URL and `host:port` want it: IPv6 in brackets. */
export const bracketed = (address: string): string =>
  address.includes(':') ? `[${address}]` : address

// SPDX-License-Identifier: Apache-2.0
// What kube-proxy told the kernel, read back from the kernel's own listing.

/** The addresses to which connections to one Service port go; undefined when there are no rules for it at all. */
export type Backends = ReadonlySet<string> | undefined

/** `iptables-save -t nat`: the chain of the Service jumps to chains of endpoints, and those hold the address. */
const readIptables = (listing: string, service: string): Backends => {
  const lines = listing.split('\n')
  const mark = `--comment "${service}`
  const isOurs = (line: string): boolean => line.includes(mark)
  const chain = lines
    .filter(isOurs)
    .map(line => /^-A KUBE-SERVICES .* -j (KUBE-SVC-\S+)/.exec(line)?.[1])
    .find(name => name !== undefined)
  if (chain === undefined) return undefined
  const jumps = new Set(
    lines.flatMap(line => {
      const [, from, to] = /^-A (\S+) .*-j (KUBE-SEP-\S+)/.exec(line) ?? []
      return from === chain && to !== undefined ? [to] : []
    }),
  )
  const addresses = lines.flatMap(line => {
    const [, from, to] = /^-A (KUBE-SEP-\S+) .*--to-destination ([\d.]+):/.exec(line) ?? []
    return from !== undefined && to !== undefined && jumps.has(from) ? [to] : []
  })
  return new Set(addresses)
}

/**
 * `nft list table ip kube-proxy`: the Service's chain draws from a map of endpoint chains, whose names end with the
 * address. Chains of endpoints that went stay listed for a while, so only the map counts.
 */
const readNftables = (listing: string, service: string): Backends => {
  const [path = ''] = service.split(':')
  const chain = new RegExp(`chain service-[A-Z0-9]+-${path}/[^{]*\\{((?:[^{}]|\\{[^}]*\\})*)\\}`)
  const body = chain.exec(listing)?.[1]
  if (body === undefined) return undefined
  const drawn = [...body.matchAll(/numgen random mod \d+ (?:vmap|map) \{([^}]*)\}/g)]
  const named = drawn.flatMap(([, map = '']) => [...map.matchAll(/(\d+\.\d+\.\d+\.\d+)(?:\/|\s)/g)])
  return new Set(named.map(([, address = '']) => address))
}

/** How a proxy mode's rules are listed, and read. */
export const RULES = {
  iptables: { command: ['iptables-save', '-t', 'nat'], read: readIptables },
  nftables: { command: ['nft', 'list', 'table', 'ip', 'kube-proxy'], read: readNftables },
} as const

export type Mode = keyof typeof RULES

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { type Backends, RULES } from './rules.js'

const iptables = `*nat
:KUBE-SERVICES - [0:0]
-A KUBE-SEP-2Y7RWVQKQTZN7NP4 -s 10.202.0.14/32 -m comment --comment "default/web:http" -j KUBE-MARK-MASQ
-A KUBE-SEP-2Y7RWVQKQTZN7NP4 -p tcp -m comment --comment "default/web:http" -m tcp -j DNAT --to-destination 10.202.0.14:8080
-A KUBE-SEP-U4GO3QUUX22DVWS3 -p tcp -m comment --comment "default/web:http" -m tcp -j DNAT --to-destination 10.202.0.11:8080
-A KUBE-SEP-OLDOLDOLDOLDOLD1 -p tcp -m comment --comment "default/web:http" -m tcp -j DNAT --to-destination 10.202.0.19:8080
-A KUBE-SEP-OTHEROTHEROTHER1 -p tcp -m comment --comment "default/shop:80-80" -m tcp -j DNAT --to-destination 10.202.0.12:80
-A KUBE-SERVICES -d 10.96.7.7/32 -p tcp -m comment --comment "default/shop:80-80 cluster IP" -m tcp --dport 80 -j KUBE-SVC-OTHEROTHEROTHER1
-A KUBE-SERVICES -d 10.96.198.104/32 -p tcp -m comment --comment "default/web:http cluster IP" -m tcp --dport 80 -j KUBE-SVC-CDGGSHYLG3RE2FKL
-A KUBE-SVC-CDGGSHYLG3RE2FKL -m comment --comment "default/web:http -> 10.202.0.11:8080" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-U4GO3QUUX22DVWS3
-A KUBE-SVC-CDGGSHYLG3RE2FKL -m comment --comment "default/web:http -> 10.202.0.14:8080" -j KUBE-SEP-2Y7RWVQKQTZN7NP4
-A KUBE-SVC-OTHEROTHEROTHER1 -m comment --comment "default/shop:80-80 -> 10.202.0.12:80" -j KUBE-SEP-OTHEROTHEROTHER1
COMMIT
`

const nftables = `table ip kube-proxy {
	chain service-SUSTUHLJ-default/web/tcp/http {
		meta l4proto tcp dnat ip to numgen random mod 2 map { 0 : 10.202.0.11 . 8080, 1 : 10.202.0.14 . 8080 }
	}

	chain service-QJ2627JP-default/shop/tcp/80-80 {
		meta l4proto tcp dnat ip to numgen random mod 1 map { 0 : 10.202.0.12 . 80 }
	}
}
`

/** Sorted, so that it reads; undefined stays what it is. */
const found = (backends: Backends): readonly string[] | undefined =>
  backends === undefined ? undefined : [...backends].toSorted()

for (const [mode, listing] of [
  ['iptables', iptables],
  ['nftables', nftables],
] as const) {
  const { read } = RULES[mode]
  t.same(found(read(listing, 'default/web:http')), ['10.202.0.11', '10.202.0.14'], mode)
  t.same(found(read(listing, 'default/shop:80-80')), ['10.202.0.12'], `${mode}: each its own`)
  t.equal(read(listing, 'default/we:http'), undefined, `${mode}: a name that only begins alike`)
  t.equal(read('', 'default/web:http'), undefined, `${mode}: no rules at all`)
}

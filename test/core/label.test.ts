// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { isLabelKey, isLabelValue, SUBDOMAIN } from '../../core/label.js'

t.test('label keys', t => {
  const good = ['a', 'zone1', 'A_b.c-d', 'topology.kubernetes.io/zone', 'a'.repeat(63)]
  good.push(`${'a'.repeat(253)}/b`)
  const bad = ['', 'bad key!', '-a', 'a-', '/a', 'a/', 'a/b/c', 'A/b', 'a'.repeat(64)]
  bad.push(`${'a'.repeat(254)}/b`, 'site-.example.com/x', 'a..b/c', '1.-a/b', 'a./b')
  for (const key of good) t.ok(isLabelKey(key), key.slice(0, 40))
  for (const key of bad) t.notOk(isLabelKey(key), key.slice(0, 40))
  t.end()
})

t.test('label values', t => {
  for (const value of ['', 'a', 'Unit_A', '1.2', 'a'.repeat(63)]) t.ok(isLabelValue(value), value)
  for (const value of ['a b', '-a', 'a/b', 'a'.repeat(64)]) t.notOk(isLabelValue(value), value)
  t.end()
})

t.test('subdomains', t => {
  for (const name of ['a', '1', 'a-b', 'a.b', '1.a-2.b']) t.match(name, SUBDOMAIN, name)
  for (const name of ['', 'A', '-a', 'a-', '.a', 'a.', 'a..b', 'a.-b', 'a_b', 'a b', 'a\n'])
    t.notMatch(name, SUBDOMAIN, JSON.stringify(name))
  t.end()
})

// SPDX-License-Identifier: Apache-2.0
import fc from '../../../../testkit/properties.js'
import t from 'tap'
import {
  parseRememberedZoneConfig,
  parseUnits,
  rememberZoneConfig,
} from '../../../../agent/stages/node-list/zone-config.js'
import {
  factsOf,
  membersSelector,
  ruleKeys,
  UNIT_LABEL_VALUE,
  zoneRuleOf,
} from '../../../../agent/stages/node-list/zone-rule.js'
import { parseLabelSelector } from '../../../../kube/label-selector.js'
import { nodeView } from '../../fake-watches.js'

const unitsOf = (text: string) => parseUnits({ 'check-units': text })

const takes = (parse: () => unknown): boolean => {
  try {
    parse()
    return true
  } catch {
    return false
  }
}

const BAD = [
  'site-.example.com/x',
  'a..b/c',
  '1.-a/b',
  'a./b',
  '/a',
  'a/',
  'a/b/c',
  'a b',
  '-a',
  `${'a'.repeat(254)}/b`,
  'a'.repeat(64),
]

t.test('a unit name that selectors are refused for is refused', t => {
  for (const name of BAD) {
    t.throws(() => unitsOf(`good,${name}`), { code: 'INVALID_INPUT' }, name.slice(0, 30))
    t.throws(() => parseLabelSelector(`!${name}`), name.slice(0, 30))
    const remembered = { units: { isOn: true, names: [name] } }
    t.throws(() => parseRememberedZoneConfig(remembered), { code: 'INVALID_INPUT' }, 'on disk')
  }
  t.end()
})

t.test('a unit name is taken where selectors with it parse, and only there', t => {
  const name = fc.stringMatching(/^[-aZ1._/]{1,12}$/)
  fc.assert(
    fc.property(name, name => {
      const isTaken = takes(() => unitsOf(name))
      return (
        isTaken === takes(() => parseLabelSelector(`!${name}`)) &&
        isTaken === takes(() => parseLabelSelector(`u=v,${name}!=${UNIT_LABEL_VALUE}`))
      )
    }),
    { numRuns: 2_000 },
  )
  t.end()
})

t.test('what check-units may name makes selectors that parse', t => {
  const names = [
    'u1',
    'in',
    'A_b.c-d',
    'site.example.com/x',
    `${'a'.repeat(253)}/${'b'.repeat(63)}`,
  ]
  const units = unitsOf(names.join(','))
  const config = { zones: undefined, units }
  t.strictSame(units?.names, names)
  t.strictSame(parseRememberedZoneConfig(JSON.parse(rememberZoneConfig(config))), config)
  for (const mine of names) {
    const labels = { [mine]: UNIT_LABEL_VALUE }
    const own = nodeView('n1', { labels })
    const rule = zoneRuleOf(own, config, '')
    if (rule.kind !== 'selector') throw new Error(`${mine} is no unit`)
    const isMatch = [membersSelector(rule), factsOf(own, ruleKeys(config))].map(selector =>
      parseLabelSelector(selector)(new Map(Object.entries(labels))),
    )
    t.strictSame(isMatch, [true, true], mine.slice(0, 30))
  }
  t.end()
})

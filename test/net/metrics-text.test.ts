// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  countsBy,
  countsByPair,
  Histogram,
  metricFactory,
  metricsText,
  processMetrics,
  samplesOf,
  stateSamples,
} from '../../net/metrics-text.js'

const { gauge, counter, histogram } = metricFactory('zone_')

t.test('counts of two words have two labels', t => {
  t.strictSame(countsByPair(['kind', 'result'], { 'apply done': 2, alone: 1 }), [
    [2, { kind: 'apply', result: 'done' }],
    [1, { kind: 'alone', result: '' }],
  ])
  t.end()
})

t.test('the text format: help, kind, a line for each series', t => {
  const text = metricsText([
    gauge('ready', 'All of it', [1]),
    counter('writes', 'By kind', ...countsBy('kind', { lease: 2, taint: 0 })),
    gauge('nothing', 'Without series'),
  ])
  t.equal(
    text,
    `# HELP zone_ready All of it
# TYPE zone_ready gauge
zone_ready 1
# HELP zone_writes_total By kind
# TYPE zone_writes_total counter
zone_writes_total{kind="lease"} 2
zone_writes_total{kind="taint"} 0
# HELP zone_nothing Without series
# TYPE zone_nothing gauge
`,
  )
  t.end()
})

t.test('a histogram: how many are at most each bound, their number and sum', t => {
  const spread = new Histogram([0.1, 0.5])
  const none = metricsText([histogram('wait_seconds', 'Waited', spread.show())])
  t.match(none, 'zone_wait_seconds_bucket{le="0.1"} 0\n', 'there from the start')
  for (const value of [0.1, 0.2, 0.25, 7]) spread.add(value)
  t.equal(
    metricsText([histogram('wait_seconds', 'Waited', spread.show())]),
    `# HELP zone_wait_seconds Waited
# TYPE zone_wait_seconds histogram
zone_wait_seconds_bucket{le="0.1"} 1
zone_wait_seconds_bucket{le="0.5"} 3
zone_wait_seconds_bucket{le="+Inf"} 4
zone_wait_seconds_sum 7.55
zone_wait_seconds_count 4
`,
  )
  t.end()
})

t.test('no label value and no help can break out of its line', t => {
  const text = metricsText([gauge('odd', 'a\nb\\c', [0.5, { one: 'x"} 9\n#', two: '\\' }])])
  t.equal(
    text,
    `# HELP zone_odd a\\nb\\\\c
# TYPE zone_odd gauge
zone_odd{one="x\\"} 9\\n#",two="\\\\"} 0.5
`,
  )
  t.end()
})

t.test('a state is one series each; what is not known has none', t => {
  t.strictSame(stateSamples(['on', 'off'], 'off'), [
    [0, { state: 'on' }],
    [1, { state: 'off' }],
  ])
  const ages = [
    { name: 'a', age: 3 },
    { name: 'b', age: null },
  ]
  t.strictSame(
    samplesOf(
      ages,
      item => item.age,
      item => ({ node: item.name }),
    ),
    [[3, { node: 'a' }]],
  )
  t.end()
})

t.test('what the process uses', t => {
  const text = metricsText(processMetrics(metricFactory('p_')))
  t.match(text, /^p_resident_memory_bytes [1-9]\d+$/m)
  t.match(text, /^p_cpu_seconds_total \d/m)
  t.end()
})

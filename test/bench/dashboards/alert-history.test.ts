// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { alertHistory } from '../../../bench/dashboards/alert-history.js'
import type { QuerySeries } from '../../../testkit/prometheus/server.js'

const STEP = 2
const range = { from: 1_000, to: 1_300, step: STEP }

/** An alert that is there from one second of the range to another. */
const series = (state: string, labels: Record<string, string>, from: number, to: number) => {
  const points: [number, number][] = []
  for (let at = from; at <= to; at += STEP) points.push([range.from + at, 1])
  const all = { __name__: 'ALERTS', alertstate: state, severity: 'critical', ...labels }
  return { labels: all, points } satisfies QuerySeries
}

t.test('deeds and alerts are one list in the order of time', t => {
  const dead = { alertname: 'NodeDead', zone: 'north', peer: 'a' }
  const down = { alertname: 'AgentDown', instance: '127.0.0.1:1' }
  const found = [
    series('firing', dead, 72, 130),
    series('pending', dead, 10, 70),
    series('pending', down, 14, 40),
    series('pending', down, 200, 300),
  ]
  const deeds = [
    { at: range.from, what: 'a loses its power' },
    { at: range.from + 120, what: 'power is back' },
  ]
  t.strictSame(alertHistory(deeds, found, range).split('\n').slice(2), [
    '| 0:00 | a loses its power |  |  |  |',
    '| 0:10 |  | NodeDead | waits | north a |',
    '| 0:14 |  | AgentDown | waits | 127.0.0.1:1 |',
    '| 0:42 |  | AgentDown | ends before its time | 127.0.0.1:1 |',
    '| 1:12 |  | NodeDead | **fires** | north a |',
    '| 2:00 | power is back |  |  |  |',
    '| 2:12 |  | NodeDead | is over | north a |',
    '| 3:20 |  | AgentDown | waits | 127.0.0.1:1 |',
  ])
  t.end()
})

t.test('what a rule says of several at the same time is one row', t => {
  const of = (node: string) => series('pending', { alertname: 'NotConfined', node, node_zone: 'z', instance: 'i' }, 0, 300) // prettier-ignore
  t.strictSame(
    alertHistory([], [of('a'), of('b')], range)
      .split('\n')
      .slice(2),
    ['| 0:00 |  | NotConfined | waits | a, b |'],
  )
  t.end()
})

t.test('an alert that comes back is shown again', t => {
  const dead = { alertname: 'NodeDead', peer: 'a' }
  const found = [series('firing', dead, 10, 20), series('firing', dead, 50, 60)]
  t.strictSame(alertHistory([], found, range).split('\n').slice(2), [
    '| 0:10 |  | NodeDead | **fires** | a |',
    '| 0:22 |  | NodeDead | is over | a |',
    '| 0:50 |  | NodeDead | **fires** | a |',
    '| 1:02 |  | NodeDead | is over | a |',
  ])
  t.end()
})

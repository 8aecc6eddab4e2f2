// SPDX-License-Identifier: Apache-2.0
// What nodes sent and received while a cell was played, as a table of HTML.
import { TRAFFIC_HEAD, trafficRows } from '../../testkit/meter/traffic.js'
import type { NodeTraffic } from './zone-meter.js'

const rowOf = (cells: readonly string[]): string =>
  `<tr>${cells.map(text => `<td>${text}</td>`).join('')}</tr>`

/** A table per node, folded; nothing when nothing was counted. */
export const drawNodeTraffic = (traffic: readonly NodeTraffic[]): string => {
  if (traffic.length === 0) return ''
  const head = ['node', ...TRAFFIC_HEAD].map(text => `<th>${text}</th>`).join('')
  const rows = traffic.flatMap(({ node, entries, seconds }) =>
    trafficRows(entries, seconds).map((row, nth) => rowOf([nth === 0 ? node : '', ...row])),
  )
  return (
    '<details><summary>Bytes at each node’s interfaces: whole IP packets</summary>' +
    `<table><tr>${head}</tr>${rows.join('')}</table></details>`
  )
}

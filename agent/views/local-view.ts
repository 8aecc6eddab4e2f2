// SPDX-License-Identifier: Apache-2.0
import type { LocalView } from '../http/views.js'
import type { ResultStore } from '../store.js'

/** The local view as `/localinfo` serves it: the same object until something in it changes. */
export const makeLocalView = (store: ResultStore): (() => LocalView) => {
  let last: LocalView = { generation: 0, nodes: [] }
  let gist = ''
  return () => {
    const state = store.zone.current
    if (state === undefined) return last
    const { roster, judgement } = state
    const next = `${roster.hash} ${judgement.localUp.join('')}`
    if (next === gist) return last
    gist = next
    const nodes = roster.members
      .map(({ name }, index) => ({ name: name, isUp: judgement.localUp[index] === 1 }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    last = Object.freeze({ generation: last.generation + 1, nodes })
    return last
  }
}

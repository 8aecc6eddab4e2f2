// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { silentLog } from '../../../core/log.js'
import type { UnitSource } from '../../../grids/model/grid.js'
import { Tables, type TablesSeams } from '../../../grids/run/tables.js'
import { deploymentGrid } from '../../../testkit/kube/grid-objects.js'

type Watch = TablesSeams['client']['watch']
type Handlers = Parameters<Watch>[2]

/** Tables that see what the test says of DeploymentGrids. */
const openTables = () => {
  const seen: { change?: (raw: object) => void; remove?: (key: string) => void } = {}
  const watch = ((type: Parameters<Watch>[0], _request: object, handlers: Handlers) => {
    if (type.resource === 'deploymentgrids') {
      seen.change = raw => {
        handlers.upsert(type.parse(raw))
      }
      seen.remove = key => {
        handlers.remove(key)
      }
    }
    return { stop: () => Promise.resolve() }
  }) as unknown as Watch
  const nothing = (): undefined => undefined
  const tables = new Tables({
    ...{ client: { watch }, log: silentLog },
    ...{ onGrid: nothing, onChild: nothing },
  })
  for (const informer of Object.values(tables.informers)) informer.start()
  let version = 1
  return {
    tables,
    change: (name: string, names: readonly string[]) =>
      seen.change!(
        deploymentGrid(
          name,
          { gridUniqKey: undefined, nodeUnits: { names } },
          { uid: `uid-${name}`, resourceVersion: `${++version}` },
        ),
      ),
    remove: (name: string) => {
      seen.remove!(`default/${name}`)
    },
  }
}

const source = (...names: readonly string[]): UnitSource => ({ by: 'node-unit', names })

t.test('units are counted as long as a grid asks for them', t => {
  const { tables, change, remove } = openTables()
  change('one', ['a'])
  change('two', ['a'])
  const counted = tables.unitsOf(source('a'))
  t.equal(tables.unitsOf(source('a')), counted, 'the same until it changes')
  change('one', ['b'])
  t.equal(tables.unitsOf(source('a')), counted, 'another grid has the same units')
  const other = tables.unitsOf(source('b'))
  remove('two')
  t.not(tables.unitsOf(source('a')), counted, 'forgotten with its last grid')
  t.equal(tables.unitsOf(source('b')), other)
  for (let edit = 0; edit < 3; edit++) change('one', [`c${edit}`])
  t.not(tables.unitsOf(source('b')), other, 'forgotten when its only grid is edited')
  t.end()
})

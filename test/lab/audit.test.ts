// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { areConfined, type Asked, tallyText, WriteTallies } from './audit.js'

const asked = (account: string, verb: string, code: number, path = '/api/v1/nodes/n1'): Asked => ({
  ...{ account, verb, code, path, by: 'n1', resource: 'nodes', name: 'n1' },
  ...{ message: '', wall: 0, body: undefined },
})
const DRY = '/api/v1/nodes/n1?dryRun=All'

const tallied = (...all: readonly Asked[]): WriteTallies => {
  const tallies = new WriteTallies()
  for (const one of all) tallies.add(one)
  return tallies
}

t.test('writes are counted by account; reads, conflicts and what is gone are none', async t => {
  const { all } = tallied(
    asked('agent', 'patch', 200),
    asked('agent', 'create', 201),
    asked('agent', 'patch', 409),
    asked('agent', 'delete', 404),
    asked('agent', 'get', 403),
    asked('agent', 'patch', 403),
    asked('agent', 'patch', 403, DRY),
    asked('agent', 'patch', 200, DRY),
    asked('wrapper', 'create', 403, DRY),
  )
  t.strictSame(all.map(tallyText), [
    'agent: 2 writes made, 1 refused; 2 forbidden ones tried, 1 let through',
    'wrapper: 0 writes made, 0 refused; 1 forbidden ones tried, 0 let through',
  ])
})

t.test('a dry run that changes nothing is no forbidden write', async t => {
  const { all } = tallied(
    { ...asked('agent', 'patch', 200, DRY), body: {} },
    { ...asked('agent', 'patch', 200, DRY), body: { spec: {} } },
    { ...asked('agent', 'patch', 403, DRY), body: { spec: {} } },
  )
  t.match(all, [{ tried: 2, letThrough: 1 }])
})

t.test('an account is confined when it was tried, and nothing was let through', async t => {
  const [good, tried] = [asked('a', 'patch', 200), asked('a', 'patch', 403, DRY)]
  t.ok(areConfined(tallied(good, tried).all))
  t.notOk(areConfined([]), 'nobody was tried')
  t.notOk(areConfined(tallied(good).all), 'its policy was not')
  t.notOk(areConfined(tallied(good, tried, asked('a', 'patch', 403)).all), 'a write was refused')
  t.notOk(areConfined(tallied(tried, asked('a', 'patch', 200, DRY)).all))
  t.notOk(areConfined(tallied(good, tried, asked('b', 'patch', 200)).all), 'another one was not')
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { areConfined, type Asked, tallyText, WriteTallies } from './audit.js'
import { sayWhoWrote } from './confine/audited.js'

const asked = (account: string, verb: string, code: number, path = '/api/v1/nodes/n1'): Asked => ({
  ...{ account, verb, code, path, by: 'n1', resource: 'nodes', name: 'n1' },
  ...{ message: '', wall: 0, body: undefined, client: 'edge-health-bite' },
})
const DRY = '/api/v1/nodes/n1?dryRun=All'

const tallied = (...all: readonly Asked[]): WriteTallies => {
  const tallies = new WriteTallies()
  for (const one of all) tallies.add(one)
  return tallies
}

t.test(
  'requests and writes are counted by account; reads, conflicts and what is gone are no writes',
  async t => {
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
      'agent: 6 requests, 2 writes made, 1 refused; 2 forbidden ones tried, 1 let through',
      'wrapper: 0 requests, 0 writes made, 0 refused; 1 forbidden ones tried, 0 let through',
    ])
  },
)

t.test('what several runs counted is added up; earlier reports did not count requests', async t => {
  const tallies = tallied(asked('agent', 'patch', 200), asked('agent', 'get', 200))
  for (const tally of tallied(asked('agent', 'patch', 403, DRY), asked('wrapper', 'list', 200)).all)
    tallies.addTally(tally)
  t.strictSame(tallies.all, [
    { account: 'agent', requests: 2, made: 1, refused: 0, tried: 1, letThrough: 0 },
    { account: 'wrapper', requests: 1, made: 0, refused: 0, tried: 0, letThrough: 0 },
  ])
  const earlier = { account: 'agent', made: 3, refused: 0, tried: 4, letThrough: 0 }
  t.equal(
    tallyText(earlier),
    'agent: 3 writes made, 0 refused; 4 forbidden ones tried, 0 let through',
  )
  tallies.addTally(earlier)
  t.match(tallies.all, [{ requests: 2, made: 4, tried: 5 }, {}])
})

t.test('a dry run that changes nothing is no forbidden write', async t => {
  const { all } = tallied(
    { ...asked('agent', 'patch', 200, DRY), body: {} },
    { ...asked('agent', 'patch', 200, DRY), body: { spec: {} } },
    { ...asked('agent', 'patch', 403, DRY), body: { spec: {} } },
  )
  t.match(all, [{ tried: 2, letThrough: 1 }])
})

t.test('nor is that of a controller of grids, which tries what it is about to write', async t => {
  const tried = asked('edge-health-grids', 'patch', 403, DRY)
  const { all } = tallied(tried, { ...tried, code: 200, client: 'edge-health-grids' })
  t.match(all, [{ tried: 1, letThrough: 0 }])
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

t.test('a scene in which an account wrote nothing shows nothing of it', async t => {
  const said: string[] = []
  const say = (line: string) => void said.push(line)
  const [made, tried] = [asked('a', 'patch', 200), asked('a', 'patch', 403, DRY)]
  const read = asked('a', 'get', 200)
  t.ok(sayWhoWrote(tallied(made, tried).all, 'a', say))
  t.strictSame(said, [])
  for (const tallies of [tallied(), tallied(tried, read), tallied(tried, asked('b', 'patch', 200))])
    t.notOk(sayWhoWrote(tallies.all, 'a', say))
  t.match(said, [/^NOT OK: a wrote nothing/, /^NOT OK/, /^NOT OK/])
})

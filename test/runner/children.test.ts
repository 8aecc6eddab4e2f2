// SPDX-License-Identifier: Apache-2.0
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'

const RUNS = `console.log('runs'); setInterval(() => undefined, 1000)`
/** As tap does it: it ends, and what it started would go on. */
const LEAVES = `
const { spawn } = require('node:child_process')
spawn(process.execPath, ['-e', ${JSON.stringify(RUNS)}], { stdio: 'inherit' })
process.once('SIGTERM', () => process.exit(0))
`
const parentOf = (code: string, timeout: number): string => `
import { makeChildren } from ${JSON.stringify(new URL('./children.mjs', import.meta.url).href)}
const options = { stdio: ['ignore', 'inherit', 'inherit'], timeout: ${timeout} }
makeChildren().start(process.execPath, ['-e', ${JSON.stringify(code)}], options)
`

type Parent = ChildProcess & { readonly stdout: NonNullable<ChildProcess['stdout']> }

const startParent = async (t: Test, code: string, timeout: number): Promise<Parent> => {
  const parent = spawn(process.execPath, ['--input-type=module', '-e', parentOf(code, timeout)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => parent.kill('SIGKILL'))
  const [said] = (await once(parent.stdout, 'data')) as [Buffer]
  t.equal(said.toString(), 'runs\n')
  return parent
}

for (const [what, code] of [
  ['a child', RUNS],
  ['what a child has started', LEAVES],
] as const)
  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)
    t.test(`${what} ends with the one that started it: ${signal}`, async t => {
      const parent = await startParent(t, code, 600_000)
      // All of them write there: it closes when all have ended.
      const closed = once(parent.stdout, 'close')
      parent.kill(signal)
      t.strictSame(await once(parent, 'exit'), [exitCode, null])
      await closed
    })

t.test('a child that takes too long ends with all that it has started', async t => {
  const parent = await startParent(t, LEAVES, 2_000)
  const closed = once(parent.stdout, 'close')
  t.strictSame(await once(parent, 'exit'), [0, null])
  await closed
})

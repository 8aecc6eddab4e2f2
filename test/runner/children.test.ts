// SPDX-License-Identifier: Apache-2.0
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'

const PARENT = `
import { spawn } from 'node:child_process'
import { childrenUntil } from ${JSON.stringify(new URL('./children.mjs', import.meta.url).href)}
const children = childrenUntil('SIGTERM', 'SIGHUP')
const code = 'console.log("runs"); setInterval(() => undefined, 1000)'
children.add(spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'inherit', 'ignore'] }))
`

for (const [signal, code] of [
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)
  t.test(`children end with the one that started them: ${signal}`, async t => {
    const parent = spawn(process.execPath, ['--input-type=module', '-e', PARENT], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.teardown(() => parent.kill('SIGKILL'))
    const [said] = (await once(parent.stdout, 'data')) as [Buffer]
    t.equal(said.toString(), 'runs\n')
    // Both write there: it closes when both have ended.
    const closed = once(parent.stdout, 'close')
    parent.kill(signal)
    t.strictSame(await once(parent, 'exit'), [code, null])
    await closed
  })

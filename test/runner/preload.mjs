// SPDX-License-Identifier: Apache-2.0
// Runs first in each process of a test file (.taprc), and makes it start and run in less CPU time. TypeScript comes from a
// cache on disk (transpiled.mjs) instead of a compiler in each process. And no async hook runs: tap follows each promise
// by one, to know which subtest threw what nobody caught, and zones in virtual time make millions of promises. What
// nobody catches still fails the file. Programs that a test starts get none of this, and none of tap: it would load its recorder
// of coverage into each of them, agents too.
import asyncHooks from 'node:async_hooks'
import { register, syncBuiltinESMExports } from 'node:module'
import { join, relative } from 'node:path'
import { isGroup } from './together.mjs'

delete process.env.NODE_OPTIONS
process.setSourceMapsEnabled(true)

const idle = { enable: () => idle, disable: () => idle }
asyncHooks.createHook = () => idle
syncBuiltinESMExports()

const isCovered = process.env._TAPJS_PROCESSINFO_COVERAGE_ === '1'
const isTogether = isGroup(relative(join(import.meta.dirname, '..', '..'), process.argv[1] ?? ''))
register('./typescript-hooks.mjs', { parentURL: import.meta.url, data: { isCovered, isTogether } })

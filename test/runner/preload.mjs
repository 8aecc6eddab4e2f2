// SPDX-License-Identifier: Apache-2.0
// Runs first in each process of a test file (.taprc), and makes it start and run in less CPU time. TypeScript comes from a
// cache on disk (typescript-hooks.mjs) instead of a compiler in each process. And no async hook runs: tap follows each promise
// by one, to know which subtest threw what nobody caught, and zones in virtual time make millions of promises. What
// nobody catches still fails the file.
import asyncHooks from 'node:async_hooks'
import { register, syncBuiltinESMExports } from 'node:module'

// For this process alone: programs that a test starts are not tests.
delete process.env.NODE_OPTIONS
// Tap's own loader of TypeScript stays away.
process.env.TAP_TYPE_STRIP_ONLY = '1'

const idle = { enable: () => idle, disable: () => idle }
asyncHooks.createHook = () => idle
syncBuiltinESMExports()

register('./typescript-hooks.mjs', import.meta.url)

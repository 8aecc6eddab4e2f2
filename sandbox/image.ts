// SPDX-License-Identifier: Apache-2.0
// How the image runs the agent; test/docker/dockerfile.test.ts compares it with the Dockerfile.

/** V8 flags for a small heap, as in the image: a zone on one machine is many agents. */
export const IMAGE_FLAGS: readonly string[] = [
  '--max-semi-space-size=1',
  '--lite-mode',
  '--v8-pool-size=1',
  '--single-threaded-gc',
]
const FIRST_WITHOUT_FLAG = 24
/**
 * The same for the Node.js that runs this: 20 and 22 say on stderr that --lite-mode takes WebAssembly unless a flag says so
 * too, which 24 does not know and refuses to start with.
 */
export const AGENT_FLAGS: readonly string[] =
  Number.parseInt(process.versions.node) < FIRST_WITHOUT_FLAG
    ? ['--no-expose-wasm', ...IMAGE_FLAGS]
    : IMAGE_FLAGS
/** What keeps malloc's memory small, as in the image: one arena, and what is free at the end of the heap goes back. */
export const IMAGE_ENV = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072' } as const

// SPDX-License-Identifier: Apache-2.0
// The folders that hold sources, as tsconfig.json lists them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const config = readFileSync(join(import.meta.dirname, 'tsconfig.json'), 'utf8')

/** All of them, tests and benchmarks too. */
export const SOURCE_FOLDERS = JSON.parse(config).include

/** Those of the programs alone. */
export const PROGRAM_FOLDERS = SOURCE_FOLDERS.filter(
  folder => !['bench', 'testkit', 'test'].includes(folder),
)

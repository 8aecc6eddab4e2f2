// SPDX-License-Identifier: Apache-2.0
// `node test/adversary/run.mjs [ARGUMENTS]`: bundles main.ts, which takes a second, and runs it with its arguments at a
// low priority. The last line is `N passed, N failed`.
import { rmSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { makeSingleFile } from '../../testkit/single-file.mjs'

setPriority(10)
const root = join(import.meta.dirname, '..', '..')
// A file of its own for each run: its threads load it too, and another run may begin meanwhile.
const outfile = join(root, '.cache', `adversary-${process.pid}.mjs`)
process.on('exit', () => rmSync(outfile, { force: true }))
await makeSingleFile(join(import.meta.dirname, 'main.ts'), outfile)
process.argv = [process.argv[0], outfile, ...process.argv.slice(2)]
await import(pathToFileURL(outfile).href)

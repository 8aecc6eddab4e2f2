// SPDX-License-Identifier: Apache-2.0
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Loaded into the agent before its own file: tells what keeps its event loop busy when it is asked by a signal. */
const PROGRAM = `
process.on('SIGUSR2', () => {
  const kinds = {}
  for (const kind of process.getActiveResourcesInfo()) kinds[kind] = (kinds[kind] ?? 0) + 1
  require('node:fs').writeSync(2, JSON.stringify({ resources: kinds }) + '\\n')
})
`

/** @returns the flag that loads it. */
export const watchHandles = (folder: string): string => {
  const path = join(folder, 'handles.cjs')
  writeFileSync(path, PROGRAM)
  return `--require=${path}`
}

/** The last answer in what the agent said, as one number per kind; undefined before the first. */
export const resourcesIn = (said: string): Readonly<Record<string, number>> | undefined => {
  const line = said.split('\n').findLast(each => each.startsWith('{"resources":'))
  if (line === undefined) return undefined
  return (JSON.parse(line) as { readonly resources: Readonly<Record<string, number>> }).resources
}

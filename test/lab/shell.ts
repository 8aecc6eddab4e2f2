// SPDX-License-Identifier: Apache-2.0
import { execFile } from 'node:child_process'

/** Run a program to its end. Rejects with what it said when it fails. @returns its output. */
export const command = (name: string, args: readonly string[], input?: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = execFile(name, args, (error, output, errors) => {
      if (error === null) resolve(output)
      else reject(new Error(`${name} ${args.join(' ')}: ${errors.trim()}`, { cause: error }))
    })
    child.stdin?.end(input)
  })

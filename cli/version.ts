// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { arch, platform, version as nodeVersion } from 'node:process'
import type { Command } from 'commander'
import { outputOption, type Format } from './format.js'
import type { Run, CliContext } from './cli-context.js'

/** Set by the bundler; a source tree has none and reads package.json. */
declare const EDGE_HEALTH_VERSION: string | undefined
declare const EDGE_HEALTH_BUILD: string | undefined

const fromPackage = (): string => {
  const text = readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8')
  return (JSON.parse(text) as { readonly version: string }).version
}

/** Version of this build. */
export const version: string =
  typeof EDGE_HEALTH_VERSION === 'string' ? EDGE_HEALTH_VERSION : fromPackage()

/** Names the sources of this build: the same sources give the same id. */
const build = typeof EDGE_HEALTH_BUILD === 'string' ? EDGE_HEALTH_BUILD : 'source'

/** `edge-health version`. */
export const registerVersion = (program: Command, context: CliContext, run: Run): void => {
  program
    .command('version')
    .description('print the version')
    .addOption(outputOption('text', 'json'))
    .action(({ output }: { output: Format }) =>
      run(() => {
        const facts = { version, build, node: nodeVersion, platform: `${platform}-${arch}` }
        context.stdout.write(
          output === 'json'
            ? `${JSON.stringify(facts)}\n`
            : `edge-health ${version} (build ${build}, Node.js ${nodeVersion}, ${facts.platform})\n`,
        )
        return Promise.resolve(0)
      }),
    )
}

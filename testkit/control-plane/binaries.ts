// SPDX-License-Identifier: Apache-2.0
// Where the control plane's programs are: in the folder that KUBEBUILDER_ASSETS names, or in a cache outside the
// checkout, which they are built into.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { buildFlags, buildPrograms, type Environment, MissingError } from './go-build.js'
import { type Pinned, pinnedVersions, type Program } from './programs.js'

export interface Wanted {
  /** The folder with one folder of go.mod and go.sum per minor. */
  readonly folder: string
  /** `1.33` or `1.33.13`; undefined is whatever KUBEBUILDER_ASSETS holds, or the newest that is pinned. */
  readonly kubernetes: string | undefined
  readonly programs: readonly Program[]
}

const missingIn = (folder: string, names: readonly Program[]): readonly Program[] =>
  names.filter(name => {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return false
    } catch {
      return true
    }
  })

const isOf = (version: string, kubernetes: string): boolean =>
  version === `v${kubernetes}` || version.startsWith(`v${kubernetes}.`)

/** The programs that KUBEBUILDER_ASSETS names; undefined when they are of another version than the one that is asked for. */
const assetsOf = ({ programs, kubernetes }: Wanted, assets: string): string | undefined => {
  const missing = missingIn(assets, programs)
  if (missing.length > 0)
    throw new MissingError(
      `KUBEBUILDER_ASSETS=${assets} has no ${missing.join(', ')}; unset it, and they are built`,
    )
  if (kubernetes === undefined) return assets
  const { stdout } = spawnSync(join(assets, 'kube-apiserver'), ['--version'], { encoding: 'utf8' })
  const found = /Kubernetes (v\S+)/.exec(stdout)?.[1]
  return found !== undefined && isOf(found, kubernetes) ? assets : undefined
}

/** @throws MissingError that names the versions that there are. */
const pinFor = (folder: string, kubernetes: string | undefined): Pinned => {
  const all = pinnedVersions(folder)
  const found = all.find(({ version }) => kubernetes === undefined || isOf(version, kubernetes))
  if (found !== undefined) return found
  throw new MissingError(
    `Kubernetes ${kubernetes ?? ''} is not pinned here, only ${all.map(pin => pin.version).join(', ')}; ` +
      `"node ${folder}/pin.mjs VERSION" pins another one`,
  )
}

/** What a program depends on, beside the compiler. */
const keyOf = ({ version, source }: Pinned): string => {
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(source, file)))
  hash.update(buildFlags(version).join('\n'))
  return `${version}-${hash.digest('hex').slice(0, 16)}`
}

/**
 * The folder with the programs, which are built if they are nowhere yet. Call it where there is a network.
 * @throws MissingError that says what to install.
 */
export const findBinaries = async (
  wanted: Wanted,
  environment: Environment,
  say: (text: string) => void,
): Promise<string> => {
  const assets = environment['KUBEBUILDER_ASSETS']
  const given = assets === undefined || assets === '' ? undefined : assetsOf(wanted, assets)
  if (given !== undefined) return given
  const pin = pinFor(wanted.folder, wanted.kubernetes)
  const cache = environment['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const target = join(cache, 'edge-health-lab', keyOf(pin))
  const missing = missingIn(target, wanted.programs)
  if (missing.length > 0) await buildPrograms(missing, pin, target, { environment, say })
  return target
}

// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import type { Manifest } from './rbac.js'

interface Kustomization {
  readonly resources?: readonly string[]
  readonly patches?: readonly {
    readonly patch: string
    readonly target?: { readonly kind: string }
  }[]
}

const read = (folder: string): Kustomization =>
  parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as Kustomization

/** All objects that a kustomization names, from the folders that it names too; patches are not applied. */
export const readManifests = (folder: string): readonly Manifest[] =>
  (read(folder).resources ?? []).flatMap(resource => {
    const path = join(folder, resource)
    if (!resource.endsWith('.yaml')) return readManifests(path)
    return parseAllDocuments(readFileSync(path, 'utf8')).map(document => {
      if (document.errors.length > 0) throw document.errors[0]!
      return document.toJS() as Manifest
    })
  })

/** The patches of a kustomization, parsed: a partial object, or JSON patch operations with their target's kind. */
export const readPatches = (
  folder: string,
): readonly { readonly target: string | undefined; readonly patch: unknown }[] =>
  (read(folder).patches ?? []).map(({ patch, target }) => ({
    target: target?.kind,
    patch: parse(patch) as unknown,
  }))

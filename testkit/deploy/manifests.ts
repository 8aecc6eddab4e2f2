// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { jsonPatch } from '../../sandbox/api/patch-json.js'
import type { Manifest } from './rbac.js'

/** A kustomization's patch: JSON patch operations on the one object that `target` names. */
interface TargetedPatch {
  readonly target: { readonly kind: string; readonly name: string }
  readonly patch: string
}

interface Kustomization {
  readonly resources?: readonly string[]
  readonly patches?: readonly TargetedPatch[]
}

const read = (folder: string): Kustomization =>
  parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as Kustomization

/** All objects of a text of several YAML documents. */
export const parseManifests = (text: string): readonly Manifest[] =>
  parseAllDocuments(text).map(document => {
    if (document.errors.length > 0) throw document.errors[0]!
    return document.toJS() as Manifest
  })

/** All objects that a kustomization names, from the folders that it names too; patches are not applied. */
export const readManifests = (folder: string): readonly Manifest[] =>
  (read(folder).resources ?? []).flatMap(resource => {
    const path = join(folder, resource)
    if (!resource.endsWith('.yaml')) return readManifests(path)
    return parseManifests(readFileSync(path, 'utf8'))
  })

const patched = (objects: readonly Manifest[], { target, patch }: TargetedPatch) => {
  const isTarget = ({ kind, metadata }: Manifest): boolean =>
    kind === target.kind && metadata.name === target.name
  if (!objects.some(isTarget)) throw new Error(`there is no ${target.kind} ${target.name} to patch`)
  const operations = parse(patch) as unknown
  return objects.map(object =>
    isTarget(object) ? (jsonPatch(object, operations) as Manifest) : object,
  )
}

/** What `kubectl kustomize` makes of a base with these components, one after the other. */
export const renderManifests = (base: string, components: readonly string[]): readonly Manifest[] =>
  components.reduce(
    (objects, folder) =>
      (read(folder).patches ?? []).reduce(patched, [...objects, ...readManifests(folder)]),
    readManifests(base),
  )

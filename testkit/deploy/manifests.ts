// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { jsonPatch } from '../../sandbox/api/patch-json.js'
import type { Manifest } from './rbac.js'

/** A kustomization's patch of the objects that `target` picks: JSON patch operations, or `$patch: delete`. */
interface TargetedPatch {
  readonly target: {
    readonly kind: string
    readonly name?: string
    /** `LABEL=VALUE` */
    readonly labelSelector?: string
  }
  readonly patch: string
}

interface Kustomization {
  readonly resources?: readonly string[]
  readonly patches?: readonly TargetedPatch[]
  readonly configMapGenerator?: readonly {
    readonly name: string
    readonly namespace: string
    readonly files: readonly string[]
  }[]
  /** Labels of what is generated; its names must have no suffix. */
  readonly generatorOptions?: { readonly labels: Readonly<Record<string, string>> }
}

/** Each text is parsed once: a test renders the same files in many combinations. What comes of it must not be changed. */
const once = <T>(parseText: (text: string) => T): ((text: string) => T) => {
  const known = new Map<string, T>()
  return text => {
    const found = known.get(text) ?? parseText(text)
    known.set(text, found)
    return found
  }
}

const parsed = once(text => parse(text) as unknown)

const read = (folder: string): Kustomization =>
  parsed(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as Kustomization

/** All objects of a text of several YAML documents. */
export const parseManifests = (text: string): readonly Manifest[] =>
  parseAllDocuments(text).map(document => {
    if (document.errors.length > 0) throw document.errors[0]!
    return document.toJS() as Manifest
  })

const manifestsOf = once(parseManifests)

const generated = (folder: string): readonly Manifest[] => {
  const { configMapGenerator = [], generatorOptions } = read(folder)
  return configMapGenerator.map(({ name, namespace, files }) => ({
    ...{ apiVersion: 'v1', kind: 'ConfigMap' },
    metadata: { name, namespace, labels: generatorOptions?.labels },
    data: Object.fromEntries(files.map(file => [file, readFileSync(join(folder, file), 'utf8')])),
  }))
}

const named = (folder: string): readonly Manifest[] =>
  (read(folder).resources ?? []).flatMap(resource => {
    const path = join(folder, resource)
    if (!resource.endsWith('.yaml')) return readManifests(path)
    return manifestsOf(readFileSync(path, 'utf8'))
  })

/** All objects that a kustomization names or generates, from the folders that it names too; patches are not applied. */
export const readManifests = (folder: string): readonly Manifest[] => [
  ...named(folder),
  ...generated(folder),
]

const picks =
  ({ kind, name, labelSelector }: TargetedPatch['target']) =>
  ({ kind: own, metadata }: Manifest): boolean => {
    const [label = '', value] = labelSelector?.split('=') ?? []
    const { labels = {} } = metadata as { labels?: Readonly<Record<string, string>> }
    const isNamed = name === undefined || metadata.name === name
    return own === kind && isNamed && (labelSelector === undefined || labels[label] === value)
  }

const patched = (objects: readonly Manifest[], { target, patch }: TargetedPatch) => {
  const isTarget = picks(target)
  if (!objects.some(isTarget))
    throw new Error(`there is no ${target.kind} ${target.name ?? ''} to patch`)
  const change = parsed(patch) as { readonly $patch?: string }
  if (change.$patch === 'delete') return objects.filter(object => !isTarget(object))
  return objects.map(object =>
    isTarget(object) ? (jsonPatch(object, change) as Manifest) : object,
  )
}

/** What `kubectl kustomize` makes of a base with these components, one after the other; of replacements nothing. */
export const renderManifests = (base: string, components: readonly string[]): readonly Manifest[] =>
  components.reduce(
    (objects, folder) =>
      (read(folder).patches ?? []).reduce(patched, [...objects, ...readManifests(folder)]),
    readManifests(base),
  )

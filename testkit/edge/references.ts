// SPDX-License-Identifier: Apache-2.0
import { mapsAt, textAt, valueAt } from '../../core/json-at.js'

/** What a pod needs before it starts: an object of its namespace, or a token of a ServiceAccount. */
export interface Reference {
  readonly type: 'configmap' | 'secret' | 'serviceaccounttoken'
  readonly name: string
  /** What is asked with it. */
  readonly content: unknown
}

const tokenRequest = (pod: unknown, projection: unknown): unknown => ({
  metadata: { creationTimestamp: null },
  spec: {
    audiences: textAt(projection, 'audience') === '' ? null : [textAt(projection, 'audience')],
    expirationSeconds: valueAt(projection, 'expirationSeconds') ?? 3_607,
    boundObjectRef: {
      kind: 'Pod',
      apiVersion: 'v1',
      name: textAt(pod, 'metadata', 'name'),
      uid: textAt(pod, 'metadata', 'uid'),
    },
  },
  status: { token: '', expirationTimestamp: null },
})

const referencesOfVolume = (pod: unknown, volume: unknown): readonly Reference[] => {
  const found: Reference[] = []
  const add = (type: Reference['type'], name: string, content: unknown = null): void => {
    if (name !== '') found.push({ type, name, content })
  }
  add('configmap', textAt(volume, 'configMap', 'name'))
  add('secret', textAt(volume, 'secret', 'secretName'))
  for (const source of mapsAt(volume, 'projected', 'sources')) {
    add('configmap', textAt(source, 'configMap', 'name'))
    add('secret', textAt(source, 'secret', 'name'))
    const projection = valueAt(source, 'serviceAccountToken')
    if (projection !== undefined) {
      const account = textAt(pod, 'spec', 'serviceAccountName')
      add(
        'serviceaccounttoken',
        account === '' ? 'default' : account,
        tokenRequest(pod, projection),
      )
    }
  }
  return found
}

const referencesOfContainer = (container: unknown): readonly Reference[] => {
  const pairs = [
    ...mapsAt(container, 'envFrom').flatMap(source => [
      ['configmap', textAt(source, 'configMapRef', 'name')] as const,
      ['secret', textAt(source, 'secretRef', 'name')] as const,
    ]),
    ...mapsAt(container, 'env').flatMap(variable => [
      ['configmap', textAt(variable, 'valueFrom', 'configMapKeyRef', 'name')] as const,
      ['secret', textAt(variable, 'valueFrom', 'secretKeyRef', 'name')] as const,
    ]),
  ]
  return pairs
    .filter(([, name]) => name !== '')
    .map(([type, name]) => ({ type, name, content: null }))
}

/** What a pod refers to, each once, in the order in which it is mounted. */
export const referencesOf = (pod: unknown): readonly Reference[] => {
  const found = [
    ...mapsAt(pod, 'spec', 'volumes').flatMap(volume => referencesOfVolume(pod, volume)),
    ...mapsAt(pod, 'spec', 'initContainers').flatMap(referencesOfContainer),
    ...mapsAt(pod, 'spec', 'containers').flatMap(referencesOfContainer),
  ]
  const byKey = new Map(found.map(reference => [`${reference.type}/${reference.name}`, reference]))
  return [...byKey.values()]
}

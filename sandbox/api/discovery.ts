// SPDX-License-Identifier: Apache-2.0
import { groupVersion, type Row } from './row.js'

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

const resourceOf = (row: Row): object => ({
  name: row.resource,
  singularName: row.singular,
  namespaced: row.namespaced,
  kind: row.kind,
  verbs: VERBS,
  ...(row.shortNames.length === 0 ? {} : { shortNames: row.shortNames }),
})

const partOf = (row: Row, subresource: string, more: object): object => ({
  name: `${row.resource}/${subresource}`,
  singularName: '',
  namespaced: row.namespaced,
  ...more,
  verbs: ['get', 'patch', 'update'],
})

const partsOf = (row: Row): object[] => [
  ...(row.status ? [partOf(row, 'status', { kind: row.kind })] : []),
  ...(row.scale === undefined
    ? []
    : [partOf(row, 'scale', { group: 'autoscaling', version: 'v1', kind: 'Scale' })]),
]

const TOKEN_REVIEWS = {
  name: 'tokenreviews',
  singularName: 'tokenreview',
  namespaced: false,
  kind: 'TokenReview',
  verbs: ['create'],
}

const AUTHENTICATION = 'authentication.k8s.io/v1'

const resourceList = (all: readonly Row[], of: string): object | undefined => {
  const rows = all.filter(row => groupVersion(row) === of)
  const resources = rows.flatMap(row => [resourceOf(row), ...partsOf(row)])
  if (of === AUTHENTICATION) resources.push(TOKEN_REVIEWS)
  if (resources.length === 0) return undefined
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: of, resources }
}

const versionsOf = (all: readonly Row[], group: string): string[] =>
  group === 'authentication.k8s.io'
    ? ['v1']
    : [...new Set(all.filter(row => row.group === group).map(row => row.version))]

const groupOf = (all: readonly Row[], name: string): object => {
  const versions = versionsOf(all, name).map(version => ({
    groupVersion: `${name}/${version}`,
    version,
  }))
  return { name, versions, preferredVersion: versions[0] }
}

const groupNames = (all: readonly Row[]): string[] => [
  'authentication.k8s.io',
  ...new Set(all.map(row => row.group).filter(group => group !== '')),
]

/** What the server says about itself to `kubectl version`. */
export const VERSION = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.3-edge-health-sandbox',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'node',
  platform: `${process.platform}/${process.arch}`,
}

/** The answer for a path that lists groups, versions or resources; undefined when it is none of them. */
export const discover = (path: string, all: readonly Row[]): object | undefined => {
  const [root, group, version, ...more] = path.replace(/^\/+|\/+$/g, '').split('/')
  if (more.length > 0) return undefined
  if (root === 'api') {
    if (group === undefined)
      return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] }
    return version === undefined ? resourceList(all, group) : undefined
  }
  if (root !== 'apis') return undefined
  if (group === undefined)
    return {
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: groupNames(all).map(name => groupOf(all, name)),
    }
  if (!groupNames(all).includes(group)) return undefined
  if (version === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(all, group) }
  return resourceList(all, `${group}/${version}`)
}

// SPDX-License-Identifier: Apache-2.0
import { groupVersion, ROWS, type Row } from './registry.js'

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

const resourceOf = (row: Row): object => ({
  name: row.resource,
  singularName: row.singular,
  namespaced: row.namespaced,
  kind: row.kind,
  verbs: VERBS,
  ...(row.shortNames.length === 0 ? {} : { shortNames: row.shortNames }),
})

const statusOf = (row: Row): object[] =>
  row.status
    ? [
        {
          name: `${row.resource}/status`,
          singularName: '',
          namespaced: row.namespaced,
          kind: row.kind,
          verbs: ['get', 'patch', 'update'],
        },
      ]
    : []

const TOKEN_REVIEWS = {
  name: 'tokenreviews',
  singularName: 'tokenreview',
  namespaced: false,
  kind: 'TokenReview',
  verbs: ['create'],
}

const AUTHENTICATION = 'authentication.k8s.io/v1'

const resourceList = (of: string): object | undefined => {
  const rows = ROWS.filter(row => groupVersion(row) === of)
  const resources = rows.flatMap(row => [resourceOf(row), ...statusOf(row)])
  if (of === AUTHENTICATION) resources.push(TOKEN_REVIEWS)
  if (resources.length === 0) return undefined
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: of, resources }
}

const versionsOf = (group: string): string[] =>
  group === 'authentication.k8s.io'
    ? ['v1']
    : [...new Set(ROWS.filter(row => row.group === group).map(row => row.version))]

const groupOf = (name: string): object => {
  const versions = versionsOf(name).map(version => ({
    groupVersion: `${name}/${version}`,
    version,
  }))
  return { name, versions, preferredVersion: versions[0] }
}

const groupNames = (): string[] => [
  'authentication.k8s.io',
  ...new Set(ROWS.map(row => row.group).filter(group => group !== '')),
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
export const discover = (path: string): object | undefined => {
  const [root, group, version, ...more] = path.replace(/^\/+|\/+$/g, '').split('/')
  if (more.length > 0) return undefined
  if (root === 'api') {
    if (group === undefined)
      return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] }
    return version === undefined ? resourceList(group) : undefined
  }
  if (root !== 'apis') return undefined
  if (group === undefined)
    return { kind: 'APIGroupList', apiVersion: 'v1', groups: groupNames().map(groupOf) }
  if (!groupNames().includes(group)) return undefined
  if (version === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(group) }
  return resourceList(`${group}/${version}`)
}

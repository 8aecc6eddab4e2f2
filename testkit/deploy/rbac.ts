// SPDX-License-Identifier: Apache-2.0

/** As in rbac.authorization.k8s.io/v1, with empty lists for absent ones. */
export interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  /** Empty: every name. */
  readonly resourceNames: readonly string[]
  readonly nonResourceURLs: readonly string[]
}

/** A rule as bound: everywhere (undefined), or in one namespace. */
export interface Grant {
  readonly namespace: string | undefined
  readonly rule: Rule
}

/** What the authorizer sees of a request. */
export interface KubeRequest {
  readonly verb: string
  /** Set for URLs that are no resource, such as /livez; the rest is then empty. */
  readonly path?: string
  readonly group: string
  /** With the subresource: `nodes/status`. */
  readonly resource: string
  /** Empty: cluster-scoped, or all namespaces. */
  readonly namespace: string
  /** Empty: none, or one that the apiserver makes up. */
  readonly name: string
}

/** A Kubernetes object, as far as it was parsed. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly [field: string]: unknown
}

interface Binding extends Manifest {
  readonly roleRef: { readonly kind: string; readonly name: string }
  readonly subjects: readonly { readonly kind: string; readonly name: string; namespace: string }[]
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

const readVerb = (url: URL, name: string): string => {
  if (['true', '1'].includes(url.searchParams.get('watch') ?? '')) return 'watch'
  return name === '' ? 'list' : 'get'
}

/**
 * Read a request as the apiserver's authorizer does: a list or watch with the field selector `metadata.name=NAME` is
 * about that name.
 */
export const requestOf = (method: string, target: string): KubeRequest => {
  const url = new URL(target, 'https://kube')
  const parts = url.pathname.split('/').filter(part => part !== '')
  const isCore = parts[0] === 'api' && parts.length > 2
  const isGroup = parts[0] === 'apis' && parts.length > 3
  if (!isCore && !isGroup) {
    const verb = method === 'GET' ? 'get' : method.toLowerCase()
    return { verb, path: url.pathname, group: '', resource: '', namespace: '', name: '' }
  }
  const group = isCore ? '' : parts[1]!
  let rest = parts.slice(isCore ? 2 : 3)
  let namespace = ''
  if (rest[0] === 'namespaces' && rest.length > 2) {
    namespace = rest[1]!
    rest = rest.slice(2)
  }
  const [resource = '', inPath = '', ...sub] = rest
  const selector = /(?:^|,)metadata\.name==?([^,]+)/.exec(
    url.searchParams.get('fieldSelector') ?? '',
  )
  const verb = VERBS[method] ?? readVerb(url, inPath)
  return {
    verb,
    group,
    resource: [resource, ...sub].join('/'),
    namespace,
    name: inPath === '' && ['list', 'watch'].includes(verb) ? (selector?.[1] ?? '') : inPath,
  }
}

const includes = (list: readonly string[], value: string): boolean =>
  list.includes('*') || list.includes(value)

const ruleAllows = (rule: Rule, request: KubeRequest): boolean => {
  if (!includes(rule.verbs, request.verb)) return false
  if (request.path !== undefined) return includes(rule.nonResourceURLs, request.path)
  if (!includes(rule.apiGroups, request.group)) return false
  if (!includes(rule.resources, request.resource)) return false
  return rule.resourceNames.length === 0 || rule.resourceNames.includes(request.name)
}

/** May this request pass? As Kubernetes does it: what no grant allows is denied. */
export const rbacAllows = (grants: readonly Grant[], request: KubeRequest): boolean =>
  grants.some(
    ({ namespace, rule }) =>
      (namespace === undefined ||
        (namespace === request.namespace && request.path === undefined)) &&
      ruleAllows(rule, request),
  )

/** One line for each verb on each thing that is granted but that no request used: more than least privilege. */
export const idleGrants = (
  grants: readonly Grant[],
  requests: readonly KubeRequest[],
): readonly string[] =>
  grants.flatMap(({ namespace, rule }) =>
    rule.apiGroups.flatMap(group =>
      rule.resources.flatMap(resource =>
        rule.verbs.flatMap(verb => {
          const names = rule.resourceNames.length === 0 ? [undefined] : rule.resourceNames
          return names
            .filter(name => {
              const one: Rule = {
                ...rule,
                apiGroups: [group],
                resources: [resource],
                verbs: [verb],
                resourceNames: name === undefined ? [] : [name],
              }
              return !requests.some(request => rbacAllows([{ namespace, rule: one }], request))
            })
            .map(
              name =>
                `${verb} ${resource}${name === undefined ? '' : ` ${name}`} in ${namespace ?? '*'}`,
            )
        }),
      ),
    ),
  )

const rulesOf = (role: Manifest): readonly Rule[] =>
  (role['rules'] as readonly Partial<Rule>[]).map(rule => ({
    apiGroups: rule.apiGroups ?? [],
    resources: rule.resources ?? [],
    verbs: rule.verbs ?? [],
    resourceNames: rule.resourceNames ?? [],
    nonResourceURLs: rule.nonResourceURLs ?? [],
  }))

/** What the bindings among `objects` give to a service account. */
export const grantsOf = (
  objects: readonly Manifest[],
  account: { readonly namespace: string; readonly name: string },
): readonly Grant[] =>
  objects
    .filter((object): object is Binding => /^(Cluster)?RoleBinding$/.test(object.kind))
    .filter(({ subjects }) =>
      subjects.some(s => s.name === account.name && s.namespace === account.namespace),
    )
    .flatMap(({ kind, metadata, roleRef }) => {
      const role = objects.find(
        object =>
          object.kind === roleRef.kind &&
          object.metadata.name === roleRef.name &&
          (roleRef.kind === 'ClusterRole' || object.metadata.namespace === metadata.namespace),
      )
      if (role === undefined) throw new Error(`${kind} ${metadata.name}: no ${roleRef.kind}`)
      const namespace = kind === 'ClusterRoleBinding' ? undefined : metadata.namespace
      return rulesOf(role).map(rule => ({ namespace, rule }))
    })

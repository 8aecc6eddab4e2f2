// SPDX-License-Identifier: Apache-2.0
// Objects in a cluster have names of their own: nothing of SuperEdge's is overwritten by ours, or deleted with it.
import { execFileSync } from 'node:child_process'
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join, relative } from 'node:path'
import { homedir } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { resolveAgentOptions } from '../../agent/options/resolve.js'
import { parseManifests, readManifests, renderManifests } from '../../testkit/deploy/manifests.js'
import { earlierObjects, moveScripts } from '../../testkit/deploy/move.js'
import type { Manifest } from '../../testkit/deploy/rbac.js'
import { share } from '../../testkit/share.js'

const root = join(import.meta.dirname, '..', '..')
const base = join(root, 'deploy', 'base')
const component = (name: string): string => join(root, 'deploy', 'components', name)
const ours = readManifests(base)
const superedge = parseManifests(
  readFileSync(join(root, 'testkit', 'deploy', 'superedge-objects.yaml'), 'utf8'),
)

type Labels = Readonly<Record<string, string>>

const keyOf = ({ kind, metadata }: Manifest): string =>
  [kind, ...(metadata.namespace === undefined ? [] : [metadata.namespace]), metadata.name].join('/')
const labelsOf = ({ metadata }: Manifest): Labels => (metadata as { labels?: Labels }).labels ?? {}
const matches = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)

interface Controller extends Manifest {
  readonly spec: {
    readonly selector: { readonly matchLabels: Labels }
    readonly template: { readonly metadata: { readonly labels: Labels } }
  }
}
const controllersOf = (objects: readonly Manifest[]): readonly Controller[] =>
  objects.filter((object): object is Controller => /^(DaemonSet|Deployment)$/.test(object.kind))

/** The components that combine, in each way; namespace and grids are applied by themselves. */
const COMBINATIONS: readonly (readonly string[])[] = [
  [],
  ['zones'],
  ['fast'],
  ['zones', 'fast'],
  ['fast', 'zones'],
  ['beside-superedge'],
  ['zones', 'beside-superedge'],
  ['without-policies'],
  ['vouch-taint'],
  ['vouch-taint', 'keep'],
  ['vouch-taint', 'webhook'],
  ['vouch-taint', 'webhook', 'webhook-pods'],
  ['zones', 'fast', 'vouch-taint'],
  ['renamed'],
  ['zones', 'fast', 'renamed'],
  ['namespace'],
  ['bridge'],
  ['grids'],
  ['grids', 'renamed', 'renamed-grids'],
  ['grids', 'without-policies'],
  ['vouch-taint', 'webhook', 'webhook-pods', 'without-policies'],
  ['metrics'],
  ['grids', 'bridge', 'vouch-taint', 'webhook', 'metrics-programs'],
  ['prometheus-rules'],
  ['dashboards'],
  ['zones', 'metrics', 'prometheus-rules', 'dashboards'],
  ['namespace', 'zones', 'fast'],
]
const render = (names: readonly string[]): readonly Manifest[] =>
  renderManifests(base, names.map(component))

t.test('every component is in a combination', t => {
  const found = readdirSync(join(root, 'deploy', 'components')).sort()
  t.strictSame([...new Set(COMBINATIONS.flat())].sort(), found)
  for (const name of found) {
    const text = readFileSync(join(component(name), 'kustomization.yaml'), 'utf8')
    t.match(text, /^kind: Component$/m, name)
  }
  t.strictSame(readdirSync(join(root, 'deploy')).sort(), ['base', 'components'])
  t.end()
})

const PROGRAMS = ['edge-health-agent', 'edge-health-wrapper'] as const

/** Whose object it is, by its name. */
const programOf = ({ metadata: { name } }: Manifest): string =>
  PROGRAMS.find(program => name === program || name.startsWith(`${program}-`)) ?? ''

t.test('the base has what is ours alone', t => {
  for (const object of ours)
    if (!object.kind.startsWith('ValidatingAdmissionPolicy'))
      t.equal(object.metadata.name, programOf(object), keyOf(object))
  const kinds = ['Namespace', 'ConfigMap', 'Secret']
  t.strictSame(ours.filter(({ kind }) => kinds.includes(kind)).map(keyOf), [])
  for (const object of ours) {
    const name = programOf(object)
    const labels = {
      'app.kubernetes.io/name': name,
      'app.kubernetes.io/component': name.replace('edge-health-', ''),
      'app.kubernetes.io/part-of': 'edge-health',
    }
    t.strictSame(labelsOf(object), labels, keyOf(object))
  }
  for (const { spec, metadata } of controllersOf(ours)) {
    t.strictSame(spec.selector.matchLabels, { 'app.kubernetes.io/name': metadata.name })
    t.strictSame(spec.template.metadata.labels, labelsOf({ metadata } as Manifest))
  }
  t.end()
})

t.test("components add the namespace and the zones' ConfigMap, and nothing else is new", t => {
  const added = (names: readonly string[]): readonly string[] =>
    render(names)
      .map(keyOf)
      .filter(key => !ours.some(object => keyOf(object) === key))
  t.strictSame(added(['namespace']), ['Namespace/edge-system'])
  t.strictSame(added(['zones']), ['ConfigMap/edge-system/edge-health-zone-config'])
  t.strictSame(added(['fast', 'beside-superedge', 'vouch-taint', 'renamed']), [])
  const [zones] = readManifests(component('zones'))
  t.strictSame(zones!['data'], { TaintZoneAdmission: 'true' }, 'a string')
  t.end()
})

t.test('each account has its policies, which one component takes away', t => {
  const policies = ours.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
  const bindings = ours.filter(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding')
  t.strictSame([...new Set(policies.map(programOf))].sort(), [...PROGRAMS].sort())
  t.strictSame(
    bindings.map(({ metadata, ...rest }) => [metadata.name, rest['spec']]),
    policies.map(({ metadata: { name } }) => [
      name,
      { policyName: name, validationActions: ['Deny'] },
    ]),
  )
  for (const policy of policies) {
    const { failurePolicy, paramKind, matchConditions, validations } = policy['spec'] as {
      failurePolicy: string
      paramKind?: object
      matchConditions: readonly { expression: string }[]
      validations: readonly { reason?: string }[]
    }
    t.equal(failurePolicy, 'Fail')
    t.equal(paramKind, undefined, 'a parameter that is missing would switch the policy off')
    t.strictSame(
      matchConditions.map(({ expression }) => expression),
      [
        `request.userInfo.username == 'system:serviceaccount:' + 'edge-system' + ':' + '${programOf(policy)}'`,
      ],
    )
    for (const { reason } of validations) t.equal(reason, 'Forbidden', 'a refusal, no conflict')
  }
  const without = render(['without-policies']).map(keyOf)
  t.strictSame(
    without,
    ours.map(keyOf).filter(key => !key.startsWith('ValidatingAdmissionPolicy')),
  )
  for (const names of COMBINATIONS.filter(names => names.includes('without-policies')))
    t.notMatch(render(names).map(keyOf).join(), /Policy/, names.join())
  t.end()
})

t.test("no object of ours has the name of one of SuperEdge's, but the zones' ConfigMap", t => {
  const theirs = new Set(superedge.map(keyOf))
  for (const names of COMBINATIONS) {
    const shared = render(names)
      .map(keyOf)
      .filter(key => theirs.has(key))
    const want = names.includes('zones') ? ['ConfigMap/edge-system/edge-health-zone-config'] : []
    t.strictSame(shared, want, names.join())
  }
  const earlier = earlierObjects(ours).map(keyOf)
  t.ok(
    earlier.some(key => theirs.has(key)),
    'with the names of earlier versions this would show',
  )
  t.end()
})

t.test('no selector takes Pods of another', t => {
  for (const names of COMBINATIONS) {
    const own = controllersOf(render(names))
    const foreign = controllersOf(superedge)
    const earlier = controllersOf(earlierObjects(ours))
    for (const { metadata, spec } of own)
      for (const other of [...own, ...foreign, ...earlier]) {
        if (other.metadata.name === metadata.name) continue
        const { labels } = other.spec.template.metadata
        t.notOk(matches(spec.selector.matchLabels, labels), `${metadata.name} not ${keyOf(other)}`)
      }
    // SuperEdge's agents find ours by this label where zones mix; a Pod that has an owner is taken by no other.
    const isMixed = names.includes('beside-superedge')
    for (const { metadata, spec } of [...foreign, ...earlier])
      for (const { spec: mine } of own) {
        const taken = matches(spec.selector.matchLabels, mine.template.metadata.labels)
        t.equal(taken, isMixed && spec.selector.matchLabels['name'] === 'edge-health' && mine.selector.matchLabels['app.kubernetes.io/name'] === 'edge-health-agent', `${metadata.name}: ${names.join()}`) // prettier-ignore
      }
  }
  t.end()
})

t.test("each combination's options can be resolved", t => {
  for (const names of COMBINATIONS) {
    const agent = controllersOf(render(names)).find(
      ({ metadata }) => metadata.name === 'edge-health-agent',
    ) as unknown as { spec: { template: { spec: { containers: [{ args: readonly string[] }] } } } }
    const [command, ...args] = agent.spec.template.spec.containers[0].args
    t.equal(command, 'agent')
    const flags = args.map(arg => {
      const [, name = '', text = ''] = /^--([^=]+)=(.+)$/.exec(arg) ?? []
      return { name, text }
    })
    const { options, notices } = resolveAgentOptions({ flags, env: { NODE_NAME: 'n1' } })
    t.equal(options.stateDir, '/var/lib/edge-health')
    t.strictSame(notices, [])
  }
  t.throws(() => renderManifests(component('zones'), [component('fast')]), /no DaemonSet/)
  t.end()
})

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** kubectl of the machine, or one that the lab has built. */
const findKubectl = (): string | undefined => {
  const built = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'edge-health-lab')
  const folders = [
    process.env['KUBEBUILDER_ASSETS'] ?? '',
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...(isProgram(built) ? readdirSync(built).map(name => join(built, name)) : []),
  ]
  return folders
    .filter(folder => folder !== '')
    .map(folder => join(folder, 'kubectl'))
    .find(isProgram)
}

const kubectl = findKubectl()
t.test(
  'kubectl makes the same of each combination',
  { skip: kubectl === undefined && 'there is no kubectl: npm run lab -- build kubectl' },
  t => {
    for (const [index, names] of share(t, [...COMBINATIONS.entries()], 8, 'combinations')) {
      const folder = join(t.testdirName, String(index))
      mkdirSync(folder, { recursive: true })
      const near = (path: string): string => relative(folder, path)
      const text = JSON.stringify({
        apiVersion: 'kustomize.config.k8s.io/v1beta1',
        kind: 'Kustomization',
        resources: [near(base)],
        components: names.map(name => near(component(name))),
      })
      writeFileSync(join(folder, 'kustomization.yaml'), text)
      const made = parseManifests(
        execFileSync(kubectl!, ['kustomize', folder], { encoding: 'utf8' }),
      )
      const byKey = (objects: readonly Manifest[]) =>
        Object.fromEntries(objects.map(object => [keyOf(object), object]))
      t.strictSame(byKey(made), byKey(render(names)), names.join() || 'the base alone')
    }
    const alone = execFileSync(kubectl!, ['kustomize', component('namespace')], {
      encoding: 'utf8',
    })
    t.strictSame(parseManifests(alone), readManifests(component('namespace')), 'as Install says')
    t.end()
  },
)

interface Policy extends Manifest {
  readonly spec: { readonly matchConditions: readonly { readonly expression: string }[] }
}

t.test(
  'under other names each policy names its account still',
  { skip: kubectl === undefined && 'there is no kubectl: npm run lab -- build kubectl' },
  t => {
    const write = (name: string, parts: object): string => {
      const folder = join(t.testdirName, name)
      mkdirSync(folder, { recursive: true })
      const kinds = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' }
      writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify({ ...kinds, ...parts }))
      return folder
    }
    const near = (path: string): string => relative(join(t.testdirName, 'x'), path)
    // Agents need Roles of one name in several namespaces, so that no kustomization can give the base a namespace.
    for (const [resources, more, prefix, namespace, renamed] of [
      [[base], [], 'shop-', undefined, ['renamed']],
      [[base], ['grids'], 'shop-', undefined, ['renamed', 'renamed-grids']],
      [[], ['grids'], '', 'shop', ['renamed-grids']],
    ] as const) {
      write('inner', {
        ...{ resources: resources.map(near), components: more.map(name => near(component(name))) },
        ...{ namePrefix: prefix, ...(namespace === undefined ? {} : { namespace }) },
      })
      const components = renamed.map(name => near(component(name)))
      const outer = write('outer', { resources: ['../inner'], components })
      const made = parseManifests(
        execFileSync(kubectl!, ['kustomize', outer], { encoding: 'utf8' }),
      )
      const accounts = made
        .filter(({ kind }) => kind === 'ServiceAccount')
        .map(({ metadata: { name, namespace } }) => `'${namespace}' + ':' + '${name}'`)
      const named = made
        .filter((object): object is Policy => object.kind === 'ValidatingAdmissionPolicy')
        .flatMap(({ spec }) => spec.matchConditions.map(({ expression }) => expression))
        .map(text => text.replace("request.userInfo.username == 'system:serviceaccount:' + ", ''))
      t.strictSame([...new Set(named)].sort(), accounts.sort(), renamed.join())
      t.match(accounts[0], /shop/)
    }
    t.end()
  },
)

t.test('under other names each binding names its policy, also by an older kubectl', t => {
  for (const [folder, renamed] of [
    [base, 'renamed'],
    [component('grids'), 'renamed-grids'],
  ] as const) {
    const [{ replacements } = {}] = parseManifests(
      readFileSync(join(component(renamed), 'kustomization.yaml'), 'utf8'),
    ) as readonly { replacements?: readonly object[] }[]
    const bindings = readManifests(folder).filter(
      ({ kind }) => kind === 'ValidatingAdmissionPolicyBinding',
    )
    t.ok(bindings.length > 0)
    for (const { kind, metadata, spec } of bindings) {
      const { policyName: name } = spec as { policyName: string }
      const wanted = {
        source: { kind: 'ValidatingAdmissionPolicy', name, fieldPath: 'metadata.name' },
        targets: [{ select: { kind, name: metadata.name }, fieldPaths: ['spec.policyName'] }],
      }
      const found = replacements?.filter(each => isDeepStrictEqual(each, wanted))
      t.equal(found?.length, 1, metadata.name)
    }
  }
  t.end()
})

// What stood in deploy/base until the names changed.
const EARLIER = [
  'ServiceAccount/edge-system/edge-health',
  'ClusterRole/edge-health',
  'ClusterRoleBinding/edge-health',
  ...['edge-system', 'kube-node-lease', 'default'].flatMap(namespace => [
    `Role/${namespace}/edge-health`,
    `RoleBinding/${namespace}/edge-health`,
  ]),
  'DaemonSet/edge-system/edge-health',
]

/** What a line `kubectl [-n NAMESPACE] delete KIND,… -l LABEL` removes. */
const removedBy = (line: string, objects: readonly Manifest[]): readonly string[] => {
  const [, namespace, kinds = '', label = '', value] =
    /^kubectl (?:-n (\S+) )?delete (\S+) -l ([^=\s]+)=(\S+)/.exec(line) ?? []
  return objects
    .filter(
      object =>
        kinds.split(',').includes(object.kind.toLowerCase()) &&
        object.metadata.namespace === namespace &&
        labelsOf(object)[label] === value,
    )
    .map(keyOf)
}

t.test('the move from earlier names removes what they named, and nothing else', t => {
  const page = readFileSync(join(root, 'docs', 'earlier-names.md'), 'utf8')
  const scripts = moveScripts(page)
  t.equal(scripts.length, 2)
  const variables = [...scripts[0]!.matchAll(/\b([A-Z]+)=([^\s;]+)/g)]
  const lines = variables
    .reduce((text, [, name, value]) => text.replaceAll(`$${name}`, value!), scripts.join(''))
    .split('\n')
    .map(line => line.trim())
  const earlier = earlierObjects(ours)
  t.strictSame(earlier.map(keyOf).sort(), [...EARLIER].sort())
  for (const object of earlier) t.equal(labelsOf(object)['app.kubernetes.io/name'], 'edge-health')
  const beside = [...render(['namespace', 'zones', 'fast']), ...superedge]
  const removed = lines.flatMap(line => removedBy(line, [...earlier, ...beside]))
  t.strictSame([...removed].sort(), [...EARLIER].sort())

  const [orphan, apply] = lines.slice(1)
  t.match(orphan, /delete daemonset .* --cascade=orphan/, 'its Pods outlive the DaemonSet')
  t.match(apply, /^kubectl apply -k my/)
  const agent = controllersOf(ours).find(({ metadata }) => metadata.name === 'edge-health-agent')!
  t.match(lines.join('\n'), `wait pod -l app.kubernetes.io/name=${agent.metadata.name} `)
  const ports = [{ containerPort: 51_005, hostPort: 51_005 }]
  t.match(agent.spec.template, { spec: { containers: [{ ports }] } }, 'no two on a node')
  t.end()
})

t.test('every name of the documents is there', t => {
  const known = new Set(
    [...render(['namespace', 'zones']), ...superedge].map(({ metadata }) => metadata.name),
  )
  for (const file of ['README.md', 'docs/operations.md', 'docs/wrapper.md']) {
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, name] of text.matchAll(/\b(?:ds|daemonset)\/([a-z-]+)/g))
      t.ok(known.has(name!) || name === 'kube-proxy', `${file}: ${name}`)
    for (const [path] of text.matchAll(/\bdeploy\/(?:base|components|overlays)[a-z/-]*/g))
      t.ok(isProgram(join(root, path)), `${file}: ${path}`)
  }
  t.end()
})

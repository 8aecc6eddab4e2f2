// SPDX-License-Identifier: Apache-2.0
// Floors: core ← vote, plan (which sees vote's types), plugins, net, options, kube (which sees net), controller (which sees kube) ← agent, sandbox, wrapper, grids ← cli. Imports go down only; each package has one owner folder.
const only = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { dependencyTypesNot: ['core', 'npm', 'npm-dev', 'npm-no-pkg'], pathNot: allowed },
})
const behind = (pkg, where) => ({
  name: `${pkg.replaceAll('/', '-')}-has-one-owner`,
  severity: 'error',
  from: { pathNot: [where, '^test/'] },
  to: { path: `node_modules/${pkg}/` },
})

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    only('core-is-the-ground-floor', '^core/', '^core/'),
    only('vote-sees-core', '^vote/', '^(vote|core)/'),
    only('plan-sees-core-and-vote', '^plan/', '^(plan|vote|core)/'),
    {
      name: 'plan-sees-only-types-of-vote',
      severity: 'error',
      from: { path: '^plan/' },
      to: { path: '^vote/', dependencyTypesNot: ['type-only'] },
    },
    only('plugins-see-core', '^plugins/', '^(plugins|core)/'),
    only('net-sees-core', '^net/', '^(net|core)/'),
    only('kube-sees-core', '^kube/[^/]+$', '^(kube/[^/]+$|core/)'),
    only(
      'kube-client-never-sees-the-server',
      '^kube/client/',
      '^(kube/(client/|[^/]+$)|net/|core/)',
    ),
    only('kube-server-never-sees-the-client', '^kube/server/', '^(kube/(server/|[^/]+$)|core/)'),
    only('options-see-core', '^options/', '^(options|core)/'),
    only(
      'agent-looks-down',
      '^agent/',
      '^((agent|net|plugins|vote|plan|options|core)/|kube/(client/|[^/]+$))',
    ),
    only('sandbox-looks-down', '^sandbox/', '^(sandbox|kube|net|core)/'),
    only('wrapper-looks-down', '^wrapper/', '^(wrapper|kube|net|options|core)/'),
    only('wire-sees-core', '^wrapper/wire/', '^(wrapper/wire|core)/'),
    only('prune-sees-wire', '^wrapper/prune/', '^(wrapper/(prune|wire)|core)/'),
    only(
      'controller-sees-kube-client',
      '^controller/',
      '^((controller|core)/|kube/(client/|[^/]+$))',
    ),
    only(
      'grids-look-down',
      '^grids/',
      '^((grids|controller|net|options|core)/|kube/(client/|[^/]+$))',
    ),
    only('grids-model-sees-core', '^grids/model/', '^(grids/model|core)/'),
    {
      name: 'grids-model-is-pure',
      severity: 'error',
      from: { path: '^grids/model/' },
      to: { dependencyTypes: ['core', 'npm'], pathNot: 'node_modules/valibot/' },
    },
    only(
      'cli-never-sees-test',
      '^cli/',
      '^(cli|agent|sandbox|wrapper|grids|controller|kube|net|plugins|vote|plan|options|core)/',
    ),
    {
      name: 'rules-are-pure',
      severity: 'error',
      from: { path: '^(vote|plan|wrapper/wire|wrapper/prune)/' },
      to: { dependencyTypes: ['core', 'npm'] },
    },
    behind('axios', '^agent/adapters/'),
    behind('node-cron', '^agent/adapters/'),
    behind('express', '^agent/http/'),
    behind('@kubernetes/client-node', '^kube/client/'),
    behind('pino', '^cli/'),
    behind('commander', '^cli/'),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
  },
}

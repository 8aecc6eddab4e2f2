// SPDX-License-Identifier: Apache-2.0
// Floors: core ← vote, plan (which sees vote's types), plugins, net, options, kube (which sees net), controller (which sees kube) ← agent, sandbox, wrapper, grids, admission, bridge ← cli ← testkit ← test, bench. Imports go down only; each package has one owner folder.
/** Files in `folder` may import files in it and in `others` (paths, separated by spaces), and nothing else of ours. */
const only = (name, folder, others = '') => ({
  name,
  severity: 'error',
  from: { path: `^${folder}` },
  to: {
    dependencyTypesNot: ['core', 'npm', 'npm-dev', 'npm-no-pkg'],
    pathNot: `^(${`${folder} ${others}`.trim().split(' ').join('|')})`,
  },
})
/** Files that both halves of `kube` share. */
const KUBE = 'kube/[^/]+$'
const CLIENT = `kube/client/ ${KUBE}`
const PRODUCT =
  'cli/ agent/ sandbox/ wrapper/ grids/ admission/ bridge/ controller/ kube/ net/ plugins/ vote/ plan/ options/ core/'
const behind = (pkg, where) => ({
  name: `${pkg.replaceAll('/', '-')}-has-one-owner`,
  severity: 'error',
  from: { pathNot: [where, '^test/', '^testkit/'] },
  to: { path: `node_modules/${pkg}/` },
})

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    only('core-is-the-ground-floor', 'core/'),
    only('vote-sees-core', 'vote/', 'core/'),
    only('plan-sees-core-and-vote', 'plan/', 'vote/ core/'),
    {
      name: 'plan-sees-only-types-of-vote',
      severity: 'error',
      from: { path: '^plan/' },
      to: { path: '^vote/', dependencyTypesNot: ['type-only'] },
    },
    only('plugins-see-core', 'plugins/', 'core/'),
    only('net-sees-core', 'net/', 'core/'),
    only('kube-sees-core', KUBE, 'core/'),
    only('kube-client-never-sees-the-server', 'kube/client/', `${KUBE} net/ core/`),
    only('kube-server-never-sees-the-client', 'kube/server/', `${KUBE} core/`),
    only('options-see-core', 'options/', 'core/'),
    only('agent-looks-down', 'agent/', `net/ plugins/ vote/ plan/ options/ core/ ${CLIENT}`),
    {
      name: 'stages-meet-in-the-store',
      severity: 'error',
      from: { path: '^agent/stages/([^/]+)/' },
      to: {
        path: '^agent/stages/',
        pathNot: ['^agent/stages/$1/', '^agent/stages/(stage|runner)[.]ts$'],
      },
    },
    {
      name: 'stages-see-nothing-above-them',
      severity: 'error',
      from: { path: '^agent/stages/' },
      to: { path: '^agent/((agent|program|counters)[.]ts$|(adapters|http|views)/)' },
    },
    {
      name: 'store-and-records-see-no-stage',
      severity: 'error',
      from: { path: '^agent/((store|results|turn-loop|key-ring)[.]ts$|(records|ports)/)' },
      to: { path: '^agent/(stages|views|http|adapters)/' },
    },
    {
      name: 'identity-sees-keys-alone',
      severity: 'error',
      from: { path: '^agent/identity/' },
      to: { path: '^(agent|plan|net|kube)/', pathNot: '^agent/(identity/|key-ring[.]ts$)' },
    },
    {
      name: 'superedge-has-one-door',
      severity: 'error',
      from: { path: '^agent/', pathNot: '^agent/stages/exchange/superedge/' },
      to: { path: '^agent/stages/exchange/superedge/', pathNot: '/superedge[.]ts$' },
    },
    only('sandbox-looks-down', 'sandbox/', 'kube/ net/ core/'),
    only('wrapper-looks-down', 'wrapper/', 'kube/ net/ options/ core/'),
    only('wire-sees-core', 'wrapper/wire/', 'core/'),
    only('prune-sees-wire', 'wrapper/prune/', 'wrapper/wire/ core/'),
    only('controller-sees-kube-client', 'controller/', `core/ ${CLIENT}`),
    only('grids-look-down', 'grids/', `controller/ net/ options/ core/ ${CLIENT}`),
    only('grids-model-sees-core', 'grids/model/', 'core/'),
    {
      name: 'grids-model-is-pure',
      severity: 'error',
      from: { path: '^grids/model/' },
      to: { dependencyTypes: ['core', 'npm'], pathNot: 'node_modules/valibot/' },
    },
    only('bridge-looks-down', 'bridge/', `controller/ net/ options/ core/ ${CLIENT}`),
    only('bridge-model-sees-core', 'bridge/model/', 'core/'),
    only('admission-looks-down', 'admission/', `controller/ net/ options/ core/ ${CLIENT}`),
    only('admission-model-sees-core', 'admission/model/', 'core/'),
    {
      name: 'admission-model-is-pure',
      severity: 'error',
      from: { path: '^admission/model/' },
      to: { dependencyTypes: ['core', 'npm'], pathNot: '^(node:)?buffer$' },
    },
    only('cli-never-sees-tests', 'cli/', PRODUCT),
    only('testkit-never-sees-tests', 'testkit/', PRODUCT),
    only('bench-never-sees-tests', 'bench/', `testkit/ ${PRODUCT}`),
    {
      // Half a MiB on each node, for a library that an agent in a Pod does not need.
      name: 'an-agent-loads-no-yaml-unless-there-is-some',
      severity: 'error',
      from: {
        path: '^(core|vote|plan|plugins|net|kube/client|options|agent)/|^cli/(agent-main|run-program|long-command|print-config)[.]ts$',
      },
      to: { path: 'node_modules/yaml/', dynamic: false },
    },
    {
      name: 'rules-are-pure',
      severity: 'error',
      from: { path: '^(vote|plan|wrapper/wire|wrapper/prune)/' },
      to: { dependencyTypes: ['core', 'npm'] },
    },
    {
      name: 'bridge-model-is-pure',
      severity: 'error',
      from: { path: '^bridge/model/' },
      to: { dependencyTypes: ['core', 'npm'] },
    },
    {
      name: 'wrapper-parses-no-yaml',
      comment: 'Strangers send YAML, and its parser takes 80 ms for a KiB that is broken.',
      severity: 'error',
      from: { path: '^wrapper/' },
      to: { path: 'node_modules/yaml/' },
    },
    behind('axios', '^agent/adapters/'),
    behind('node-cron', '^agent/adapters/'),
    behind('express', '^agent/http/'),
    behind('@kubernetes/client-node', '^kube/client/'),
    behind('ws', '^bridge/hub/'),
    behind('@peculiar/x509', '^bridge/enroll/'),
    behind('pino', '^cli/'),
    behind('commander', '^cli/'),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
  },
}

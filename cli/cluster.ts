// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import type { Paint } from '../core/text.js'
import { suggestion } from '../options/nearest.js'
import { clusterExplainText, nodesText, zonesText } from './cluster-text.js'
import { isClusterTrouble, lookAtCluster } from './cluster-look.js'
import { clusterView, isAlarming, type ClusterView } from './cluster-view.js'
import { outputOption, paintFor, type Format } from './format.js'
import { checkName, withClient, withKube, type KubeFlags } from './kube-options.js'
import { Exit, type ExitCode, type Run, type CliContext } from './cli-context.js'

interface ClusterFlags extends KubeFlags {
  readonly namespace: string
  readonly zone?: string
  readonly output: Format
}

const FOOTER = `
Reads Nodes, Leases in kube-node-lease, Events in default, and the zones' two ConfigMaps; writes nothing and asks no agent.
The package also installs it as a kubectl plugin: kubectl edge-health zones.

Exit codes: 0 nobody is dead, 1 somebody is (a node in maintenance does not count), 2 bad usage or no such node, 3 the
cluster cannot be read.`

/** @throws Exit 3 when it cannot be read */
const look = async (flags: ClusterFlags, context: CliContext): Promise<ClusterView> => {
  const { namespace } = flags
  checkName('namespace', namespace)
  const where = { namespace, wall: () => context.clock.wall() }
  try {
    return clusterView(
      await withClient(flags, context, client => lookAtCluster(client, where, context.signal)),
    )
  } catch (error) {
    if (!isClusterTrouble(error)) throw error
    throw new Exit(3, `the cluster cannot be read: ${error.message}`)
  }
}

const chosen = (view: ClusterView, zone: string | undefined): ClusterView => {
  if (zone === undefined) return view
  const names = view.zones.map(({ name }) => name)
  if (!names.includes(zone))
    throw new Exit(
      2,
      `--zone must be one of the ${names.length} zones${suggestion(zone, names)}, got ${JSON.stringify(zone)}`,
    )
  return {
    ...view,
    zones: view.zones.filter(({ name }) => name === zone),
    nodes: view.nodes.filter(node => node.zone === zone),
  }
}

type Render = (view: ClusterView, paint: Paint) => string

const showAll = async (
  flags: ClusterFlags,
  context: CliContext,
  render: Render,
): Promise<ExitCode> => {
  const view = chosen(await look(flags, context), flags.zone)
  context.stdout.write(
    flags.output === 'json'
      ? `${JSON.stringify(view, null, 2)}\n`
      : render(view, paintFor(context, context.stdout)),
  )
  return view.nodes.some(isAlarming) ? 1 : 0
}

const explain = async (
  name: string,
  flags: ClusterFlags,
  context: CliContext,
): Promise<ExitCode> => {
  const { nodes, at, notes } = await look(flags, context)
  const node = nodes.find(each => each.name === name)
  if (node === undefined) {
    const names = nodes.map(each => each.name)
    throw new Exit(
      2,
      `NODE must be one of the ${names.length} nodes${suggestion(name, names)}, got ${JSON.stringify(name)}`,
    )
  }
  context.stdout.write(
    flags.output === 'json'
      ? `${JSON.stringify({ at, notes, node }, null, 2)}\n`
      : clusterExplainText({ node, at, notes }, paintFor(context, context.stdout)),
  )
  return isAlarming(node) ? 1 : 0
}

/** `edge-health cluster`, which is also `kubectl edge-health`. */
export const registerCluster = (program: Command, context: CliContext, run: Run): void => {
  const command = program
    .command('cluster')
    .description("show zones and nodes as the cluster's API has them, without asking an agent")
    .enablePositionalOptions()
  const add = (name: string, description: string): Command =>
    withKube(command.command(name).description(description))
      .option(
        '-n, --namespace <name>',
        'namespace of the agents (default edge-system)',
        'edge-system',
      )
      .addOption(outputOption('text', 'json'))
      .addHelpText('after', FOOTER)
  const only = ['--zone <name>', 'only this zone'] as const
  add('zones', 'one line for each zone: how many nodes are dead, cut, not ready; the brake')
    .option(...only)
    .action((flags: ClusterFlags) => run(() => showAll(flags, context, zonesText)))
  add('nodes', 'one line for each node, of all zones')
    .option(...only)
    .action((flags: ClusterFlags) => run(() => showAll(flags, context, nodesText)))
  add('explain', 'show what the API knows about a node: conditions, Lease, marks, taints, Events')
    .argument('<node>', 'name of a node')
    .action((name: string, flags: ClusterFlags) => run(() => explain(name, flags, context)))
}

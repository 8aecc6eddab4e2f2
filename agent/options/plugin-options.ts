// SPDX-License-Identifier: Apache-2.0
import type { Kind } from '../../options/kinds.js'
import { parsePluginSpec, pluginNames } from '../../plugins/registry.js'
import type { PluginSpec } from '../../plugins/spec.js'
import type { AgentDefinition } from './definition.js'

/** The default set: a probe of the kubelet on its usual port, and what the node says about its kubelet, half each. */
const DEFAULTS: Readonly<Record<string, string>> = {
  kubeletauth: 'weight=0.5,port=10250',
  selfreport: 'weight=0.5',
}

/** Example values of the plugins that take no port. */
const EXAMPLES: Readonly<Record<string, string>> = {
  http: 'weight=0.5,url=https://{address}/',
  selfreport: 'weight=0.5',
}

const exampleOf = (name: string): string => EXAMPLES[name] ?? 'weight=0.5,port=10250'

const SUMMARIES: Readonly<Record<string, string>> = {
  ping: 'TCP connect to the node',
  kubelet: "GET of the kubelet's /healthz over HTTP",
  kubeletauth:
    "GET of the kubelet's authenticated port; 401 and 403 mean alive; no token unless token-file is given",
  http: 'GET of any URL with {address} or {name}',
  selfreport: "what the node's own agent reports about its kubelet",
}

const formatSpec = (spec: PluginSpec): string =>
  [
    `weight=${spec.weight / 1_000_000}`,
    ...(spec.name in DEFAULTS || spec.url === undefined ? [] : [`url=${spec.url}`]),
    ...(spec.port > 0 && spec.name !== 'http' && spec.name !== 'selfreport'
      ? [`port=${spec.port}`]
      : []),
    ...(spec.ca === undefined ? [] : [`ca=${spec.ca}`]),
    ...(spec.tokenFile === undefined ? [] : [`token-file=${spec.tokenFile}`]),
  ].join(',')

const pluginKind = (name: string): Kind<PluginSpec> => ({
  name: 'plugin',
  rule: `must be key=value pairs such as ${exampleOf(name)}`,
  brief: `such as ${exampleOf(name)}`,
  parse: (given, thing) => ({ value: parsePluginSpec(name, given, thing) }),
  format: formatSpec,
})

/** The option of a check plugin; there is one for each name in the registry. */
export interface PluginDefinition extends AgentDefinition<PluginSpec> {
  readonly plugin: string
}

/** `--NAME-plugin` for each plugin of the registry, and SuperEdge's spelling `--NAMEplugin`. */
export const pluginDefinitions: readonly PluginDefinition[] = pluginNames.map(name => ({
  plugin: name,
  flag: `${name}-plugin`,
  group: 'Check',
  kind: pluginKind(name),
  default: DEFAULTS[name],
  summary: SUMMARIES[name] ?? `check plugin ${name}`,
  relation: 'any plugin given replaces the default set',
  aliases: [{ name: `${name}plugin` }],
  isList: true,
}))

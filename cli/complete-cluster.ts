// SPDX-License-Identifier: Apache-2.0
// What kubectl asks its plugins for when somebody presses Tab: one candidate per line, then a directive for the shell.
import { Command } from 'commander'
import type { CliContext, Run } from './cli-context.js'
import { lookAtCluster } from './cluster-look.js'
import { clusterView, type ClusterView } from './cluster-view.js'
import { registerCluster } from './cluster.js'
import { commandTree, type CommandTree, type OptionLeaf } from './command-tree.js'
import { withClient, type KubeFlags } from './kube-options.js'

/** Directives as kubectl's own completion numbers them: without file names, or with them. */
const NO_FILES = ':4'
const FILES = ':0'
/** Time limit: somebody has pressed Tab and is waiting. */
const PATIENCE_MS = 3_000

interface Line {
  readonly command: CommandTree
  /** Values of options so far, by their long names. */
  readonly given: Readonly<Record<string, string>>
  /** Words that are neither commands nor options. */
  readonly words: readonly string[]
  /** The option whose value comes next. */
  readonly pending: OptionLeaf | undefined
}

const optionOf = ({ options }: CommandTree, word: string): OptionLeaf | undefined => {
  const [name] = word.split('=', 1)
  return options.find(({ short, long }) => name === long || name === short)
}

const step = (line: Line, word: string): Line => {
  const { command, given, words, pending } = line
  if (pending !== undefined)
    return { ...line, pending: undefined, given: { ...given, [pending.long]: word } }
  if (word.startsWith('-')) {
    const option = optionOf(command, word)
    const at = word.indexOf('=')
    if (option?.value === undefined) return line
    if (at < 0) return { ...line, pending: option }
    return { ...line, given: { ...given, [option.long]: word.slice(at + 1) } }
  }
  const inner = command.commands.find(({ path }) => path.at(-1) === word)
  return inner === undefined ? { ...line, words: [...words, word] } : { ...line, command: inner }
}

const lookNow = async (
  given: Line['given'],
  context: CliContext,
): Promise<Pick<ClusterView, 'zones' | 'nodes'>> => {
  const read = (name: string): string | undefined => given[`--${name}`]
  const [kubeconfig, cluster, masterUrl] = ['kubeconfig', 'context', 'master-url'].map(read)
  const flags: KubeFlags = {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(cluster === undefined ? {} : { context: cluster }),
    ...(masterUrl === undefined ? {} : { masterUrl }),
  }
  const where = { namespace: read('namespace') ?? 'edge-system', wall: () => context.clock.wall() }
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(PATIENCE_MS)])
  try {
    return clusterView(
      await withClient(flags, context, client => lookAtCluster(client, where, signal)),
    )
  } catch {
    // Completion then offers no names.
    return { zones: [], nodes: [] }
  }
}

const describe = (name: string, description: string): string =>
  `${name}\t${description.split('\n', 1)[0]!}`

const optionsOf = ({ options }: CommandTree): readonly string[] =>
  options.map(({ long, description }) => describe(long, description))

const valuesOf = async (
  { long, choices, value }: OptionLeaf,
  given: Line['given'],
  context: CliContext,
): Promise<readonly string[]> => {
  if (value === 'path') return [FILES]
  if (long !== '--zone') return [...choices, NO_FILES]
  const { zones } = await lookNow(given, context)
  return [...zones.map(({ name }) => name), NO_FILES]
}

/** The candidates, whatever the word to complete begins with, and last the directive. */
const candidates = async (
  { command, given, words, pending }: Line,
  last: string,
  context: CliContext,
): Promise<readonly string[]> => {
  if (pending !== undefined) return valuesOf(pending, given, context)
  if (last.startsWith('-')) return [...optionsOf(command), NO_FILES]
  if (command.path.at(-1) === 'explain' && words.length === 0) {
    const { nodes } = await lookNow(given, context)
    return [...nodes.map(({ name, class: how }) => describe(name, how)), NO_FILES]
  }
  const names = command.commands.map(({ path, description }) => describe(path.at(-1)!, description))
  return [...names, NO_FILES]
}

const nothing: Run = () => Promise.resolve()

const clusterTree = (context: CliContext): CommandTree => {
  const program = new Command('edge-health')
  registerCluster(program, context, nothing)
  return commandTree(program).commands[0]!
}

/** `edge-health complete-cluster WORD…`, which is `kubectl_complete-edge_health`. The last word is to be completed. */
export const registerCompleteCluster = (program: Command, context: CliContext, run: Run): void => {
  program
    .command('complete-cluster')
    .argument('[words...]')
    .allowUnknownOption()
    .helpOption(false)
    .action((all: readonly string[]) =>
      run(async () => {
        const last = all.at(-1) ?? ''
        const start: Line = {
          ...{ command: clusterTree(context), given: {}, words: [], pending: undefined },
        }
        const line = all.slice(0, -1).reduce(step, start)
        const found = await candidates(line, last, context)
        const fitting = found.filter(text => text.startsWith(':') || text.startsWith(last))
        context.stdout.write(`${fitting.join('\n')}\n`)
        return 0
      }),
    )
}

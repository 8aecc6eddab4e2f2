// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { InvalidInputError } from '../core/errors.js'
import { gridText, type Grid } from '../grids/model/grid.js'
import {
  isGrid,
  objectText,
  parseGrid,
  parseUnitNode,
  type UnitNode,
} from '../grids/model/parse.js'
import { planGrids, type GridPlan } from '../grids/model/plan.js'
import type { Child } from '../grids/model/child.js'
import { suggestion } from '../options/nearest.js'
import { clean } from '../core/text.js'
import { outputOption, type Format } from './format.js'
import { readObjects } from './grid-files.js'
import { Exit, type ExitCode, type Run, type CliContext } from './cli-context.js'
import { registerGridsCluster } from './grids-cluster.js'
import { registerGridsRun } from './grids-run.js'

interface RenderFlags {
  readonly file: readonly string[]
  readonly nodes?: string
  readonly unit?: string
  readonly output: Format
}

const FOOTER = `
Nothing is asked of a cluster: what is printed is what the grids of FILE make of the nodes in the other FILE, such as
"kubectl get nodes -o yaml" prints them. Objects of other kinds are passed over. Grids that no apiserver has seen have no
uid, and then their children name no owner.

Exit codes: 0 done, 1 a grid is invalid or a unit has no child (the others are printed), 2 bad usage or no such file.`

type Complain = (trouble: string) => void

const readGrids = (
  files: readonly string[],
  context: CliContext,
  complain: Complain,
): readonly Grid[] => {
  const grids = new Map<string, Grid>()
  for (const object of files.flatMap(file => readObjects('--file', file, context))) {
    if (!object.ok) {
      complain(`${object.where} must be YAML: ${object.trouble}`)
      continue
    }
    const { where, raw } = object
    if (!isGrid(raw)) {
      context.stderr.write(
        `edge-health: ${clean(`${where}: ${objectText(raw)} is not a grid and is ignored`)}\n`,
      )
      continue
    }
    try {
      const grid = parseGrid(raw)
      if (grids.has(gridText(grid))) complain(`${where}: ${gridText(grid)} must be given once`)
      else grids.set(gridText(grid), grid)
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error
      complain(`${where}: ${error.message}`)
    }
  }
  return [...grids.values()]
}

/** @throws InvalidInputError for anything that is not a Node: if Nodes were missing, the units would be wrong. */
const readNodes = (file: string, context: CliContext): readonly UnitNode[] =>
  readObjects('--nodes', file, context).map(object => {
    if (!object.ok) throw new Exit(2, `${object.where} must be YAML: ${object.trouble}`)
    return parseUnitNode(object.raw)
  })

const pick = (plans: readonly GridPlan[], unit: string | undefined): readonly GridPlan[] => {
  if (unit === undefined) return plans
  const units = [...new Set(plans.flatMap(plan => plan.units))]
  if (!units.includes(unit))
    throw new InvalidInputError(
      '--unit',
      `must be one of the ${units.length} units${suggestion(unit, units)}`,
      unit,
    )
  const isOf = (part: { readonly unit: string | undefined }): boolean => part.unit === unit
  return plans.map(plan => ({
    ...plan,
    children: plan.children.filter(isOf),
    failures: plan.failures.filter(isOf),
  }))
}

const titleOf = (grid: Grid, { unit }: Child): string =>
  clean(`${gridText(grid)}, ${unit === undefined ? 'all units' : `unit ${unit}`}`)

const yamlOf = (plans: readonly GridPlan[]): string =>
  plans
    .flatMap(({ grid, children }) =>
      children.map(child => {
        const text = stringify(child.object, { lineWidth: 0, aliasDuplicateObjects: false })
        return `---\n# ${titleOf(grid, child)}\n${text}`
      }),
    )
    .join('')

const jsonOf = (plans: readonly GridPlan[]): string => {
  const items = plans.flatMap(({ children }) => children.map(({ object }) => object))
  return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, null, 2)}\n`
}

const render = (flags: RenderFlags, context: CliContext): ExitCode => {
  if (flags.file.length === 0) throw new Exit(2, '--file must be given')
  if (flags.nodes === undefined) throw new Exit(2, '--nodes must be given')
  let code: ExitCode = 0
  const complain = (trouble: string): void => {
    code = 1
    context.stderr.write(`edge-health: ${clean(trouble)}\n`)
  }
  const nodes = readNodes(flags.nodes, context)
  const grids = readGrids(flags.file, context, complain)
  const plans = pick(planGrids(grids, nodes), flags.unit)
  for (const { grid, failures } of plans)
    for (const { unit, reason, message } of failures)
      complain(
        `${gridText(grid)}${unit === undefined ? '' : `, unit ${unit}`}: ${reason}: ${message}`,
      )
  context.stdout.write(flags.output === 'json' ? jsonOf(plans) : yamlOf(plans))
  return code
}

const collect = (path: string, before: readonly string[]): readonly string[] => [...before, path]

/** `edge-health grids`, the controller, and its subcommands. */
export const registerGrids = (program: Command, context: CliContext, run: Run): void => {
  const command = program
    .command('grids')
    .description(
      'run the controller of grids: Services, and workloads with a copy for every unit of nodes',
    )
    // Arguments after a subcommand belong to the subcommand.
    .enablePositionalOptions()
  registerGridsRun(command, context, run)
  registerGridsCluster(command, context, run)
  command
    .command('render')
    .description('print the objects that grids create for given nodes, without a cluster')
    .option('-f, --file <path>', 'YAML or JSON with grids; repeatable', collect, [])
    .option('--nodes <path>', 'YAML or JSON with Nodes, or a list of them')
    .option('--unit <name>', "only this unit's children, without Services for all units")
    .addOption(outputOption('yaml', 'json'))
    .addHelpText('after', FOOTER)
    .action((flags: RenderFlags) => run(() => Promise.resolve(render(flags, context))))
}

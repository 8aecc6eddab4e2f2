// SPDX-License-Identifier: Apache-2.0
import { Option, type Command } from 'commander'
import { stringify } from 'yaml'
import { InvalidInputError } from '../core/errors.js'
import { systemRandom } from '../core/random.js'
import { changesOf, type FieldChange } from '../grids/model/difference.js'
import type { Decision, Operation } from '../grids/model/decide.js'
import type { GridKind } from '../grids/model/grid.js'
import type { Child } from '../grids/model/render.js'
import type { Hold } from '../grids/model/guard.js'
import { heldMessage, type ChildState } from '../grids/model/status.js'
import { GONE_ANNOTATION } from '../grids/model/words.js'
import { gridKinds, GRID_RESOURCES } from '../grids/run/resources.js'
import { takeSnapshot, type Judged } from '../grids/run/snapshot.js'
import { makeCredentials } from '../kube/client/credentials.js'
import { makeResourceClient } from '../kube/client/http-resource-client.js'
import { nearest } from '../options/nearest.js'
import { duration } from '../options/kinds.js'
import { Exit, type CliContext, type ExitCode, type Run } from './cli-context.js'
import { clean, outputOption, paintFor, table, type Format, type Paint } from './format.js'
import { makeLogger } from './logger.js'

interface HoldView extends Omit<Hold, 'token'> {
  readonly message: string | undefined
}

interface ClusterFlags {
  readonly namespace: string
  readonly kubeconfig?: string
  readonly masterUrl?: string
  readonly unitGrace: string
  readonly output: Format
}

const SHORT: Readonly<Record<string, GridKind>> = {
  sg: 'ServiceGrid',
  dg: 'DeploymentGrid',
  ssg: 'StatefulSetGrid',
}

const grace = duration('0s', '168h')

/** @throws InvalidInputError for a kind that is none */
const kindOf = (text: string): GridKind => {
  const given = text.toLowerCase()
  const found = gridKinds.find(
    kind => given === kind.toLowerCase() || given === GRID_RESOURCES[kind].resource,
  )
  const kind = found ?? SHORT[given]
  if (kind !== undefined) return kind
  const known = [...gridKinds, ...Object.keys(SHORT)].join(', ')
  throw new InvalidInputError('GRID', `must be KIND/NAME with a kind of ${known}`, text)
}

/** All grids of the cluster as they stand now. */
const look = async (flags: ClusterFlags, context: CliContext): Promise<readonly Judged[]> => {
  const graceMs = grace.parse(flags.unitGrace, '--unit-grace')?.value
  if (graceMs === undefined)
    throw new InvalidInputError('--unit-grace', grace.rule, flags.unitGrace)
  const { clock, env: environment } = context
  const log = makeLogger({ nodeName: 'grids', logLevel: 'error' }, context.stderr)
  // What nobody has written down is looked for where kubectl looks.
  const kubeconfig = flags.kubeconfig ?? environment['KUBECONFIG']
  const credentials = makeCredentials(
    { kubeconfig, masterUrl: flags.masterUrl, environment },
    { clock, log },
  )
  const client = makeResourceClient(
    { credentials, clock, log, random: systemRandom },
    { fieldManager: 'edge-health-cli' },
  )
  try {
    return await takeSnapshot(client, { now: clock.wall(), graceMs }, context.signal)
  } finally {
    await client.close()
  }
}

/** @throws Exit 2 when there is no such grid */
const pick = (
  all: readonly Judged[],
  text: string,
  { namespace }: Pick<ClusterFlags, 'namespace'>,
): readonly Judged[] => {
  const slash = text.lastIndexOf('/')
  const kind = slash === -1 ? undefined : kindOf(text.slice(0, slash))
  const name = text.slice(slash + 1)
  const found = all.filter(
    ({ record }) =>
      record.namespace === namespace &&
      record.name === name &&
      (kind === undefined || record.kind === kind),
  )
  if (found.length > 0) return found
  const there = all.filter(({ record }) => record.namespace === namespace)
  const close = nearest(
    name,
    there.map(({ record }) => record.name),
  )
  const hint = close === undefined ? '' : ` (did you mean ${close}?)`
  throw new Exit(
    2,
    `GRID must be one of the ${there.length} grids of namespace ${namespace}${hint}, got ${JSON.stringify(text)}`,
  )
}

const objectOf = (operation: Operation): string =>
  operation.kind === 'apply'
    ? `${operation.child.kind} ${operation.child.name}`
    : `${operation.live.kind} ${operation.live.name}`

const WHY = {
  'never-applied': 'we have never applied it',
  'not-ours': 'a field is not ours',
  'not-wanted': 'a field is not wanted any more',
  changed: 'somebody changed it',
} as const

/** What would be done, in words. */
const verbOf = (operation: Operation): string => {
  switch (operation.kind) {
    case 'apply': {
      const { target, drift, takeover, handOver } = operation
      const first = takeover === undefined ? '' : "take over from SuperEdge's controller, "
      const hand = handOver === undefined ? '' : `hand over replicas (${handOver}), `
      if (target.kind === 'new') return 'create'
      const what = target.kind === 'adopted' ? 'adopt' : 'update'
      const why =
        drift === undefined
          ? ''
          : ` (${WHY[drift.cause]}${drift.path === '' ? '' : `: ${drift.path}`})`
      return `${first}${hand}${what}${why}`
    }
    case 'mark':
      return operation.since === undefined
        ? `take off ${GONE_ANNOTATION}: its unit is back`
        : `mark: its unit has no nodes since ${new Date(operation.since).toISOString()}`
    case 'delete':
      return operation.why === 'unit-gone'
        ? 'delete: its unit has had no nodes for the grace'
        : 'delete: it is not wanted any more'
  }
}

const valueText = (value: unknown): string => (value === undefined ? '–' : JSON.stringify(value))

const changeLines = (changes: readonly FieldChange[], paint: Paint): readonly string[] =>
  changes.flatMap(({ path, before, after }) => [
    ...(before === undefined ? [] : [paint('red', clean(`  - ${path}: ${valueText(before)}`))]),
    ...(after === undefined ? [] : [paint('green', clean(`  + ${path}: ${valueText(after)}`))]),
  ])

const newLines = (operation: Operation, paint: Paint): readonly string[] => {
  if (operation.kind !== 'apply' || operation.target.kind !== 'new') return []
  const text = stringify(operation.child.object, { lineWidth: 0, aliasDuplicateObjects: false })
  return text
    .trimEnd()
    .split('\n')
    .map(line => paint('green', `  + ${clean(line)}`))
}

const operationView = (operation: Operation): Readonly<Record<string, unknown>> => ({
  object: objectOf(operation),
  does: operation.kind,
  unit: operation.kind === 'apply' ? operation.child.unit : undefined,
  what: verbOf(operation),
  changes: changesOf(operation),
  ...(operation.kind === 'apply' && operation.target.kind === 'new'
    ? { creates: operation.child.object }
    : {}),
})

/** Units that are held; `message` is the controller's, which alone knows the word that lets them go. */
const holdView = ({ record, decision }: Judged): HoldView | undefined => {
  if (decision?.hold === undefined) return undefined
  const { reason, units, total } = decision.hold
  const message = heldMessage(record.status)
  return { reason, units, total, message }
}

const heldText = (judged: Judged): string => {
  const hold = holdView(judged)
  if (hold === undefined) return ''
  const unsaid = `${hold.units.length} of ${hold.total} units have no node; condition Held will say how to let them go`
  return `${clean(`held: ${hold.message ?? unsaid}`)}\n`
}

const planView = (judged: Judged): Readonly<Record<string, unknown>> => {
  const { record, decision } = judged
  return {
    grid: record.key,
    invalid: record.reading.ok ? undefined : record.reading.trouble,
    operations: decision?.operations.map(operationView) ?? [],
    failures: decision?.failures ?? [],
    hold: holdView(judged),
  }
}

const planText = (judged: Judged, paint: Paint): string => {
  const { record, decision } = judged
  const operations = decision?.operations ?? []
  const trouble = record.reading.ok
    ? []
    : [paint('red', `invalid: ${clean(record.reading.trouble)}`)]
  const failures = (decision?.failures ?? []).map(({ unit, reason, message }) =>
    paint('red', clean(`${unit === undefined ? '' : `unit ${unit}: `}${reason}: ${message}`)),
  )
  const held =
    decision?.hold === undefined
      ? []
      : [
          paint(
            'yellow',
            `held: ${decision.hold.units.length} of ${decision.hold.total} units have no node`,
          ),
        ]
  const count = record.isDeleting
    ? 'goes away, and its children with it'
    : operations.length === 0
      ? 'nothing to write'
      : `${operations.length} ${operations.length === 1 ? 'write' : 'writes'}`
  const writes = operations.flatMap(operation => [
    clean(`${objectOf(operation)}: ${verbOf(operation)}`),
    ...changeLines(changesOf(operation), paint),
    ...newLines(operation, paint),
  ])
  return `${[`${paint('bold', clean(record.key))}: ${count}`, ...trouble, ...failures, ...held, ...writes].join('\n')}\n`
}

const hasTrouble = ({ record, decision }: Judged): boolean =>
  !record.reading.ok || (decision?.failures.length ?? 0) > 0

const runPlan = async (
  grid: string | undefined,
  flags: ClusterFlags & { readonly all?: boolean },
  context: CliContext,
): Promise<ExitCode> => {
  if ((grid === undefined) === (flags.all !== true))
    throw new Exit(2, 'GRID or --all must be given, and not both')
  const all = await look(flags, context)
  const chosen = grid === undefined ? all : pick(all, grid, flags)
  const paint = paintFor(context, context.stdout)
  context.stdout.write(
    flags.output === 'json'
      ? `${JSON.stringify(chosen.map(planView), null, 2)}\n`
      : chosen.map(judged => planText(judged, paint)).join('\n'),
  )
  if (chosen.some(hasTrouble)) return 1
  return chosen.some(({ decision }) => (decision?.operations.length ?? 0) > 0) ? 3 : 0
}

interface UnitView {
  readonly unit: string
  readonly wanted: string
  readonly found: string
  readonly why: string
}

const podsText = (rollout: ChildState['rollout']): string => {
  if (rollout === undefined) return ''
  if (rollout.isReady) return ', ready'
  return rollout.isUpdated ? ', updated' : ', not ready'
}

const foundText = (state: ChildState | undefined, operation: Operation | undefined): string => {
  if (operation?.kind === 'apply' && operation.target.kind === 'new') return 'nothing'
  if (state === undefined) return 'not seen as ours'
  return `${state.isApplied ? 'as wanted' : 'differs'}${podsText(state.rollout)}`
}

const childView = ({ kind, name, unit }: Child, decision: Decision): UnitView => {
  const state = decision.states.find(each => each.name === name)
  const operation = decision.operations.find(
    each => each.kind === 'apply' && each.child.kind === kind && each.child.name === name,
  )
  const failure = decision.failures.find(each => each.unit === unit)
  const doing = operation === undefined ? '' : verbOf(operation)
  return {
    unit: unit ?? '(all)',
    wanted: `${kind} ${name}`,
    found: foundText(state, operation),
    why: failure === undefined ? doing : `${failure.reason}: ${failure.message}`,
  }
}

const unitsView = ({ record, plan, decision }: Judged): readonly UnitView[] => {
  if (plan === undefined || decision === undefined) return []
  const rows = plan.children.map(child => childView(child, decision))
  const unrendered = plan.failures.map(({ unit, reason, message }): UnitView => ({
    unit: unit ?? '(all)',
    ...{ wanted: '–', found: 'left as it is', why: `${reason}: ${message}` },
  }))
  const leaving = decision.operations.flatMap((operation): readonly UnitView[] =>
    operation.kind === 'apply'
      ? []
      : [
          {
            unit: operation.live.labels['edge-health/unit'] ?? record.name,
            ...{ wanted: '–', found: objectOf(operation), why: verbOf(operation) },
          },
        ],
  )
  return [...rows, ...unrendered, ...leaving]
}

const explainText = (judged: Judged, paint: Paint): string => {
  const { record, plan, decision } = judged
  const title = paint('bold', clean(record.key))
  if (!record.reading.ok) return `${title} is invalid: ${clean(record.reading.trouble)}\n`
  if (record.isDeleting || plan === undefined || decision === undefined)
    return `${title} goes away, and its children with it\n`
  const { source } = plan.grid
  const by =
    source.by === 'label-value'
      ? `values of the node label ${source.key}`
      : `NodeUnits${source.names === undefined ? '' : ` ${source.names.join(', ')}`}`
  const rows = unitsView(judged).map(({ unit, wanted, found, why }) => [unit, wanted, found, why])
  return `${title}: ${plan.units.length} units, ${clean(by)}\n${heldText(judged)}${table([['UNIT', 'WANTED', 'FOUND', 'WHY, OR WHAT IS DONE'], ...rows], paint)}`
}

const runExplain = async (
  grid: string,
  flags: ClusterFlags,
  context: CliContext,
): Promise<ExitCode> => {
  const chosen = pick(await look(flags, context), grid, flags)
  const paint = paintFor(context, context.stdout)
  const views = chosen.map(judged => ({
    grid: judged.record.key,
    invalid: judged.record.reading.ok ? undefined : judged.record.reading.trouble,
    units: unitsView(judged),
    hold: holdView(judged),
  }))
  context.stdout.write(
    flags.output === 'json'
      ? `${JSON.stringify(views, null, 2)}\n`
      : chosen.map(judged => explainText(judged, paint)).join('\n'),
  )
  return chosen.some(hasTrouble) ? 1 : 0
}

const withCluster = (command: Command, ...formats: readonly Format[]): Command =>
  command
    .option('-n, --namespace <name>', 'namespace of the grid (default default)', 'default')
    .option('--kubeconfig <path>', 'a kubeconfig (default KUBECONFIG, or in-cluster credentials)')
    .option('--master-url <url>', 'replaces the server of the kubeconfig')
    .addOption(new Option('--unit-grace <duration>', "the controller's (default 5m)").default('5m'))
    .addOption(outputOption(...formats))

/** `grids plan` and `grids explain`: what the controller would do, and how each unit stands. They read, and write nothing. */
export const registerGridsCluster = (command: Command, context: CliContext, run: Run): void => {
  withCluster(
    command
      .command('plan')
      .argument('[grid]', 'NAME or KIND/NAME; kinds also as sg, dg, ssg')
      .description('print what the controller would write now, and write nothing')
      .option('--all', 'all grids of the cluster'),
    'text',
    'json',
  )
    .addHelpText(
      'after',
      '\nExit codes: 0 nothing to write, 1 a grid is invalid or a unit failed, or the cluster cannot be read, 2 bad usage or no such grid,\n3 there is something to write.',
    )
    .action((grid: string | undefined, flags: ClusterFlags & { readonly all?: boolean }) =>
      run(() => runPlan(grid, flags, context)),
    )
  withCluster(
    command
      .command('explain')
      .argument('<grid>', 'NAME or KIND/NAME; kinds also as sg, dg, ssg')
      .description('show each unit of a grid: what is wanted, what is found, and why not'),
    'text',
    'json',
  )
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 the grid is invalid or a unit failed, or the cluster cannot be read, 2 bad usage or no such grid.',
    )
    .action((grid: string, flags: ClusterFlags) => run(() => runExplain(grid, flags, context)))
}

// SPDX-License-Identifier: Apache-2.0
// What tokens of our accounts can write on a real apiserver, with deploy/ applied as an operator does.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { sleep, systemClock } from '../../../core/clock.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import type { LabOptions } from '../options.js'
import { Bed } from './bed.js'
import { allowBite, untilConfined, whoIsFree } from './bite.js'
import {
  AS_ADMIN,
  ROWS,
  type Row,
  RENAMED,
  UNGUARDED,
  WITH_OWN_TAINT,
  WITH_VOUCH_TAINT,
} from './rows.js'
import { playKeep } from './keep-rows.js'
import { playMutants } from './mutants.js'
import { playOwnCheck } from './own-check.js'
import { patchPolicy } from './policies.js'
import { playUnstamped } from './unstamped.js'
import { playWrongAccount } from './wrong-account.js'
import { BRIDGE, BRIDGE_AS_ADMIN, EDGE } from './bridge-rows.js'
import { WEBHOOK, WEBHOOK_AS_ADMIN } from './webhook-rows.js'
import { Table } from './table.js'

const PATIENCE_MS = 30_000
const AGENT = 'edge-health-agent'
const WRAPPER = 'edge-health-wrapper'

/** With cluster-admin bound to all accounts, whatever they do not refuse themselves passes RBAC. */
const ALL_ROWS = [
  ...[...ROWS, ...AS_ADMIN],
  ...[...WEBHOOK, ...WEBHOOK_AS_ADMIN],
  ...[...BRIDGE, ...BRIDGE_AS_ADMIN],
]

/** Write a kustomization. @returns its folder. */
const kustomization = (folder: string, parts: Readonly<Record<string, unknown>>): string => {
  const near = (path: string): string => relative(folder, join(process.cwd(), path))
  const { resources = [], components = [], ...more } = parts
  const text = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: (resources as string[]).map(near),
    components: (components as string[]).map(near),
    ...more,
  }
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(text))
  return folder
}

interface Seams {
  readonly plane: ControlPlane
  readonly table: Table
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/** A changed policy takes a second or two to bite: the first row must be one that it changes. */
const playChanged = async ({ table, signal }: Seams, title: string, rows: readonly Row[]) => {
  const until = performance.now() + PATIENCE_MS
  while (!(await table.outcome(rows[0]!)).isRight && performance.now() < until)
    await sleep(systemClock, 200, signal)
  await table.play(title, rows)
}

const bindAdmin = (plane: ControlPlane): Promise<string> =>
  plane.kubectl([
    ...['create', 'clusterrolebinding', 'too-much', '--clusterrole=cluster-admin'],
    ...[AGENT, WRAPPER].map(account => `--serviceaccount=edge-system:${account}`),
  ])

/** The webhook's account, with its own rights and as cluster-admin. */
const playWebhook = async (seams: Seams, bed: Bed): Promise<void> => {
  const { plane, table } = seams
  const components = ['vouch-taint', 'webhook', 'webhook-pods'].map(
    name => `deploy/components/${name}`,
  )
  const parts = { resources: ['deploy/base'], components }
  await plane.kubectl(['apply', '-k', kustomization(join(plane.dir, 'webhook'), parts)])
  await bed.makeWebhookToken()
  const refusedFirst = WEBHOOK.toSorted((a, b) => Number(a.refusedBy !== 'webhook-writes') - Number(b.refusedBy !== 'webhook-writes')) // prettier-ignore
  await playChanged(seams, 'with deploy/components/webhook and webhook-pods', refusedFirst)
  const bind = ['create', 'clusterrolebinding', 'too-much-webhook', '--clusterrole=cluster-admin']
  await plane.kubectl([...bind, '--serviceaccount=edge-system:edge-health-webhook'])
  await table.play('with cluster-admin bound to the webhook', WEBHOOK_AS_ADMIN)
  await plane.kubectl(['apply', '-k', 'deploy/base'])
}

/** The bridge's account, with its own rights and as cluster-admin. */
const playBridge = async (seams: Seams, bed: Bed): Promise<void> => {
  const { plane, table } = seams
  await plane.kubectl(['create', 'namespace', 'kubeedge'])
  const parts = { resources: ['deploy/base'], components: ['deploy/components/bridge'] }
  await plane.kubectl(['apply', '-k', kustomization(join(plane.dir, 'bridge'), parts)])
  await bed.makeBridgeToken(EDGE)
  await playChanged(seams, 'with deploy/components/bridge', BRIDGE)
  const bind = ['create', 'clusterrolebinding', 'too-much-bridge', '--clusterrole=cluster-admin']
  await plane.kubectl([...bind, '--serviceaccount=edge-system:edge-health-bridge'])
  await table.play('with cluster-admin bound to the bridge', BRIDGE_AS_ADMIN)
  await plane.kubectl(['apply', '-k', 'deploy/base'])
}

/** The policies as deploy/ has them, under names with a prefix. */
const playRenamed = async (seams: Seams): Promise<void> => {
  const { plane, say, signal } = seams
  const inner = join(plane.dir, 'renamed')
  kustomization(inner, { resources: ['deploy/base'], namePrefix: 'shop-' })
  const outer = kustomization(join(plane.dir, 'around'), {
    components: ['deploy/components/renamed'],
    resources: [relative(process.cwd(), inner)],
  })
  await plane.kubectl(['apply', '-k', outer])
  const bed = new Bed(plane, signal, 'shop-')
  await bed.makeTokens()
  const table = new Table(bed, say)
  await playChanged({ ...seams, table }, 'with the names that a kustomization gave', RENAMED)
  seams.table.add(table)
}

/** @returns whether every write was allowed or refused as it must be. */
export const runConfine = async (
  plane: ControlPlane,
  options: Pick<LabOptions, 'mutants'> & { readonly say: (line: string) => void },
  signal: AbortSignal,
): Promise<boolean> => {
  const { say } = options
  await plane.kubectl(['apply', '-k', 'deploy/components/namespace'])
  await plane.kubectl(['apply', '-k', 'deploy/base'])
  const bed = new Bed(plane, signal, '')
  await bed.makeTokens()
  await allowBite(plane)
  await untilConfined(() => whoIsFree((by, sent) => bed.send(by, sent), bed.writer), signal)
  const table = new Table(bed, say)
  const seams = { plane, table, say, signal }
  await table.play('with deploy/base', ROWS)
  await playOwnCheck({ ...seams, bed })
  await playUnstamped({ ...seams, bed })

  const folder = join(plane.dir, 'vouch-taint')
  const parts = { resources: ['deploy/base'], components: ['deploy/components/vouch-taint'] }
  await plane.kubectl(['apply', '-k', kustomization(folder, parts)])
  await playChanged(seams, 'with deploy/components/vouch-taint', WITH_VOUCH_TAINT)
  await patchPolicy(plane, `${AGENT}-nodes`, '/spec/variables/0/expression', "['example.com/dead:NoExecute']") // prettier-ignore
  await playChanged(seams, 'with example.com/dead:NoExecute in ownTaints', WITH_OWN_TAINT)
  await plane.kubectl(['apply', '-k', 'deploy/base'])
  const kept = ['vouch-taint', 'keep'].map(name => `deploy/components/${name}`)
  const keep = { resources: ['deploy/base'], components: kept }
  await playKeep({ ...seams, bed }, kustomization(join(plane.dir, 'keep'), keep))
  await playWebhook(seams, bed)
  await playBridge(seams, bed)
  await playRenamed(seams)
  await bindAdmin(plane)
  await table.play('with cluster-admin bound to both accounts', [...AS_ADMIN, ...UNGUARDED])
  const rows = table.playable(ALL_ROWS)
  if (options.mutants) await playMutants(plane, { table, rows, say }, signal)
  await playWrongAccount({ ...seams, bed, rows })
  const { asExpected, wrong } = table
  const version = String((await plane.admin.get('/version', signal))['gitVersion'])
  say(`${version}: ${asExpected + wrong} writes, ${asExpected} as expected, ${wrong} otherwise`)
  say(`${asExpected} passed, ${wrong} failed`)
  return wrong === 0
}

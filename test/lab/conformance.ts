// SPDX-License-Identifier: Apache-2.0
// The conformance rows, and the client's scenes, on a real apiserver and on the embedded one, side by side.
import { systemClock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import { startGarbageCollector } from '../../sandbox/garbage-collector.js'
import { startApi } from '../../sandbox/api/server.js'
import { type Reason, REASONS } from '../sandbox/conformance-reasons.js'
import { rows } from '../sandbox/conformance-rows.js'
import { playScene, sceneNames, type SceneServer } from '../../testkit/kube/client-scenes.js'
import { playInformer } from '../../testkit/kube/informer-scene.js'
import { playRecorder } from '../../testkit/kube/recorder-scene.js'
import { playTwoLeaders } from '../../testkit/kube/two-leaders.js'
import { runRow, type Judged } from '../../testkit/kube/conformance.js'
import type { ControlPlane } from '../../testkit/control-plane/control-plane.js'

interface RowResult {
  readonly row: string
  readonly real: readonly string[]
  readonly embedded: readonly string[]
}

const isEqual = ({ real, embedded }: RowResult): boolean => real.length + embedded.length === 0

/** A reason speaks for one of the two; the other must do as the row says. */
const explains = ({ row, who }: Reason, result: RowResult): boolean =>
  row === result.row &&
  result[who === 'real' ? 'embedded' : 'real'].length === 0 &&
  !isEqual(result)

const runAll = async (judged: Omit<Judged, 'id'>, signal: AbortSignal): Promise<string[][]> => {
  const run = Date.now().toString(36)
  const results: string[][] = []
  for (const [index, row] of rows.entries()) {
    signal.throwIfAborted()
    results.push([...(await runRow({ ...judged, id: `t${run}${index}` }, row))])
  }
  return results
}

/** The client's scenes, played to one server. */
const playAll = async (
  server: Omit<SceneServer, 'id'>,
  signal: AbortSignal,
): Promise<string[][]> => {
  const run = Date.now().toString(36)
  const results: string[][] = []
  for (const index of sceneNames.keys()) {
    signal.throwIfAborted()
    results.push([...(await playScene({ ...server, id: `s${run}${index}` }, index))])
  }
  return results
}

const versionOf = async (plane: ControlPlane, signal: AbortSignal): Promise<string> =>
  String((await plane.admin.get('/version', signal))['gitVersion'])

const printResult = (
  result: RowResult,
  reason: Reason | undefined,
  say: (line: string) => void,
): void => {
  say(`${reason === undefined ? 'not ok' : 'differs'} ${result.row}`)
  if (reason !== undefined) say(`    because ${reason.because}`)
  for (const name of ['real', 'embedded'] as const)
    for (const difference of result[name]) say(`    ${name}: ${difference}`)
}

const judge = (
  results: readonly RowResult[],
  version: string,
  say: (line: string) => void,
): boolean => {
  const reasons = REASONS.filter(
    ({ of }) => of === 'all' || of.some(minor => version.startsWith(`v${minor}.`)),
  )
  const different = results.filter(result => !isEqual(result))
  const reasonOf = (result: RowResult) => reasons.find(reason => explains(reason, result))
  for (const result of different) printResult(result, reasonOf(result), say)
  const stale = reasons.filter(reason => !different.some(result => explains(reason, result)))
  for (const { row } of stale) say(`not ok ${row}: a reason is given, and there is no difference`)
  const reasoned = different.filter(result => reasonOf(result) !== undefined).length
  const bare = different.length - reasoned
  say(
    `${version}: ${results.length} rows, ${results.length - different.length} equal, ` +
      `${reasoned} with a reasoned difference, ${bare} without a reason`,
  )
  say(`${results.length - bare} passed, ${bare + stale.length} failed`)
  return bare + stale.length === 0
}

/**
 * Run every row and every scene against both.
 * @returns whether all rows hold on both, or differ for a reason that stands above.
 */
export const runConformance = async (
  plane: ControlPlane,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<boolean> => {
  const api = await startApi({ host: '127.0.0.1', port: 0, clock: systemClock, log: silentLog })
  const collector = startGarbageCollector(api.store, systemClock)
  plane.runControllers(['garbage-collector-controller'])
  const judgedPlane = {
    ...{ url: plane.url, token: plane.adminToken },
    forget: () => plane.forget(signal),
  }
  const judgedApi = {
    ...{ url: api.url, token: api.addClient('tester') },
    forget: async () => api.store.forgetHistory(),
  }
  try {
    const real = await runAll(judgedPlane, signal)
    const embedded = await runAll(judgedApi, signal)
    real.push(...(await playAll({ ...judgedPlane, ca: plane.ca }, signal)))
    embedded.push(...(await playAll(judgedApi, signal)))
    const informed = { ...judgedPlane, ca: plane.ca, id: `i${Date.now()}` }
    real.push([...(await playInformer(informed))])
    embedded.push([...(await playInformer({ ...judgedApi, id: 'informed' }))])
    const place = { ...judgedPlane, ca: plane.ca, id: `e${Date.now()}` }
    real.push([...(await playRecorder(place))])
    embedded.push([...(await playRecorder({ ...judgedApi, id: 'told' }))])
    real.push([...(await playTwoLeaders({ ...judgedPlane, ca: plane.ca, id: `l${Date.now()}` }))])
    embedded.push([...(await playTwoLeaders({ ...judgedApi, id: 'leaders' }))])
    const names = [
      ...rows.map(([row]) => row),
      ...sceneNames.map(name => `client: ${name}`),
      'an informer tells each change once, through an apiserver that forgets and starts anew',
      'Events have counts and bounds, and what has changed is not deleted',
      'two leaders, one of them stopped in its tracks, never write at the same time',
    ]
    const results = names.map((row, i) => ({ row, real: real[i]!, embedded: embedded[i]! }))
    return judge(results, await versionOf(plane, signal), say)
  } finally {
    await collector.stop()
    await api.stop()
  }
}

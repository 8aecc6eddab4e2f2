// SPDX-License-Identifier: Apache-2.0
import { systemClock } from '../../../core/clock.js'
import { UsageError } from '../options.js'
import type { AdmissionCell, Notes } from './cell.js'
import { rotation } from './rotation.js'
import { SUPEREDGE } from './superedge-registration.js'
import { GRACE_S, TOLERATION_S, type Seen, type Stage } from './stage.js'

/** Rounds of the controllers and of this machine. */
const ROOM_MS = 12_000
const GRACE_MS = GRACE_S * 1_000
const EVICT_MS = TOLERATION_S * 1_000 + ROOM_MS

type Moments = Readonly<Record<'unknown' | 'tainted' | 'podUnready' | 'sliceUnready' | 'addressMoved' | 'endpointsUnready' | 'evicted', number | undefined>> // prettier-ignore

const READ: Readonly<Record<keyof Moments, (seen: Seen) => boolean>> = {
  unknown: seen => seen.ready === 'Unknown',
  tainted: seen => seen.isTainted,
  podUnready: seen => seen.podReady === 'False',
  sliceUnready: seen => !seen.sliceReady,
  addressMoved: seen => seen.addresses.unready > 0,
  endpointsUnready: seen => seen.addresses.ready === 0,
  evicted: seen => seen.isEvicted,
}

const s = (ms: number | undefined): string => (ms === undefined ? 'never' : `${(ms / 1_000).toFixed(1)} s`) // prettier-ignore

const text = (moments: Moments): string =>
  Object.entries(moments)
    .map(([what, ms]) => `${what} ${s(ms)}`)
    .join(', ')

/** When each came true first, in ms from now on; stops early when all that is waited for is there. */
const watch = async (
  stage: Stage,
  name: string,
  forMs: number,
  wanted: readonly (keyof Moments)[],
): Promise<Moments> => {
  // prettier-ignore
  const from = systemClock.now()
  const moments: Partial<Record<keyof Moments, number>> = {}
  while (systemClock.now() - from < forMs && !wanted.every(key => key in moments)) {
    const seen = await stage.see(name)
    for (const [key, isTrue] of Object.entries(READ) as [keyof Moments, (seen: Seen) => boolean][])
      if (isTrue(seen)) moments[key] ??= systemClock.now() - from
    await stage.wait(100)
  }
  const all = Object.keys(READ) as (keyof Moments)[]
  return Object.fromEntries(all.map(key => [key, moments[key]])) as unknown as Moments
}

const KEPT_MS = 30_000
/** Nothing is waited for: the whole time is watched. */
const ALL = ['unknown', 'tainted', 'podUnready', 'sliceUnready', 'evicted'] as const

const nothing: AdmissionCell = {
  name: 'nothing',
  shows: 'a cut node without any of it: tainted, not ready, evicted',
  play: async (stage, { note, check }) => {
    await stage.makeNode('nothing')
    await stage.cut('nothing', { isVouched: true })
    const moments = await watch(stage, 'nothing', GRACE_MS + EVICT_MS + ROOM_MS, ALL)
    note(text(moments))
    check('it is tainted and evicted, and its endpoint is not ready', ALL.every(key => moments[key] !== undefined)) // prettier-ignore
  },
}

const taint: AdmissionCell = {
  name: 'webhook',
  shows: 'a vouched node with the webhook: its Pods stay, not ready; it dies: they go',
  play: async (stage, { note, check }) => {
    await stage.register('webhook')
    await stage.replicas.start(1)
    await stage.makeNode('taint')
    await stage.cut('taint', { isVouched: true })
    const kept = await watch(stage, 'taint', GRACE_MS + KEPT_MS, ['evicted'])
    note(`cut: ${text(kept)}`)
    check('it is Unknown, and neither tainted nor evicted', kept.unknown !== undefined && kept.tainted === undefined && kept.evicted === undefined) // prettier-ignore
    check(
      'its Pods are not ready',
      kept.podUnready !== undefined && kept.sliceUnready !== undefined,
    )
    await stage.condemn('taint')
    const dead = await watch(stage, 'taint', EVICT_MS + ROOM_MS, ['tainted', 'evicted'])
    note(`dies: ${text(dead)}`)
    check('then it is tainted and evicted', dead.tainted !== undefined && dead.evicted !== undefined) // prettier-ignore
  },
}

/** A vouched node with ready endpoints, long after its grace time. */
const keepReady = async (stage: Stage, name: string, { note, check }: Notes): Promise<void> => {
  await stage.makeNode(name)
  await stage.cut(name, { isVouched: true })
  const kept = await watch(stage, name, GRACE_MS + KEPT_MS, ['evicted'])
  note(`cut: ${text(kept)}`)
  check('it is Unknown, not tainted, not evicted, and its endpoints are ready all the time', kept.unknown !== undefined && [kept.tainted, kept.podUnready, kept.sliceUnready, kept.addressMoved, kept.endpointsUnready, kept.evicted].every(ms => ms === undefined)) // prettier-ignore
}

const pods: AdmissionCell = {
  name: 'webhook-pods',
  shows:
    'a vouched node with webhook-pods: endpoints stay ready; it dies: no endpoint of it is ready N s later',
  play: async (stage, notes) => {
    await stage.register('webhook', 'webhook-pods')
    await stage.replicas.start(1)
    await keepReady(stage, 'pods', notes)
    notes.note(`reviews: ${await stage.replicas.reviews(1)}`)
    await stage.condemn('pods')
    const dead = await watch(stage, 'pods', EVICT_MS + ROOM_MS, ['tainted', 'podUnready', 'sliceUnready', 'endpointsUnready', 'evicted']) // prettier-ignore
    notes.note(`dies: ${text(dead)}`)
    notes.check('then no endpoint of it is ready, also of the Pod that bears the taint for ever', dead.sliceUnready !== undefined && dead.endpointsUnready !== undefined && dead.podUnready !== undefined) // prettier-ignore
    notes.check('and it is tainted and evicted', dead.tainted !== undefined && dead.evicted !== undefined) // prettier-ignore
  },
}

const silent: AdmissionCell = {
  name: 'webhook-silent',
  shows: 'the same, and its peers fall silent: their word counts for half a minute',
  play: async (stage, notes) => {
    await stage.register('webhook', 'webhook-pods')
    await stage.replicas.start(1)
    await keepReady(stage, 'silent', notes)
    stage.silence('silent')
    const dead = await watch(stage, 'silent', 30_000 + EVICT_MS + ROOM_MS, ['tainted', 'podUnready', 'sliceUnready', 'evicted']) // prettier-ignore
    notes.note(`silent: ${text(dead)}`)
    notes.check('then no endpoint of it is ready, and it is tainted and evicted', dead.sliceUnready !== undefined && dead.tainted !== undefined && dead.evicted !== undefined) // prettier-ignore
  },
}

/** A node is cut off, and nobody vouches for it: it is kept until somebody marks it. */
const keepUntilMarked = async (
  stage: Stage,
  node: string,
  { note, check }: Notes,
): Promise<void> => {
  await stage.makeNode(node)
  await stage.cut(node, {})
  const kept = await watch(stage, node, GRACE_MS + KEPT_MS, ['evicted'])
  note(`cut: ${text(kept)}`)
  check('it is Unknown, and neither tainted nor evicted', kept.unknown !== undefined && kept.tainted === undefined && kept.evicted === undefined) // prettier-ignore
  await stage.condemn(node)
  const dead = await watch(stage, node, EVICT_MS + ROOM_MS, ['tainted', 'evicted'])
  note(`marked: ${text(dead)}`)
  check('then it is tainted and evicted', dead.tainted !== undefined && dead.evicted !== undefined) // prettier-ignore
}

const superedge: AdmissionCell = {
  name: 'webhook-superedge',
  shows: "SuperEdge's mode: nobody marks the node, nothing happens; it is marked, and goes",
  play: async (stage, notes) => {
    await stage.register('webhook')
    await stage.replicas.start(1, ['--mode=superedge'])
    await keepUntilMarked(stage, 'superedge', notes)
  },
}

/** How often the webhook changed a write, by path. */
const changedBy = async (stage: Stage, replica: 1 | 2, path: string): Promise<number> =>
  Number(new RegExp(`${path} changed (\\d+)`).exec(await stage.replicas.reviews(replica))?.[1] ?? 0)

const endpoint: AdmissionCell = {
  name: 'webhook-endpoint',
  shows:
    "SuperEdge's registration, reviews of v1beta1 alone: a vouched node is not tainted, its Pods are not ready, its Endpoints are; it dies: they are not",
  play: async (stage, { note, check }) => {
    await stage.replicas.start(1, await stage.registerSuperEdge())
    check('the apiserver asks with v1beta1 alone', (await stage.reviewVersions(SUPEREDGE)).join() === 'v1beta1,v1beta1') // prettier-ignore
    // The second one's Pods all bear the taint for ever.
    const names = ['endpoint', 'endpoint-stays']
    for (const name of names) await stage.makeNode(name)
    await stage.removePod('endpoint-stays-goes')
    for (const name of names) await stage.cut(name, { isVouched: true })
    const [kept, stays] = await Promise.all([
      watch(stage, 'endpoint', GRACE_MS + KEPT_MS, ['evicted']),
      watch(stage, 'endpoint-stays', GRACE_MS + KEPT_MS, ['endpointsUnready']),
    ])
    note(`cut: ${text(kept)}`)
    check('it is Unknown, and neither tainted nor evicted', kept.unknown !== undefined && kept.tainted === undefined && stays.tainted === undefined && !(await stage.see('endpoint')).isEvicted) // prettier-ignore
    check(
      'its Pods are not ready',
      kept.podUnready !== undefined && kept.sliceUnready !== undefined,
    )
    check(
      'no address was moved to notReadyAddresses',
      [kept, stays].every(moments => moments.addressMoved === undefined),
    )
    const { ready } = (await stage.see('endpoint')).addresses
    check(`both addresses are ready, ${ready}`, ready === 2)
    note(`reviews: ${await stage.replicas.reviews(1)}`)
    for (const path of ['/node-taint', '/endpoint'])
      check(`writes were changed at ${path}`, (await changedBy(stage, 1, path)) > 0)
    for (const name of names) await stage.condemn(name)
    const [dead, left] = await Promise.all([
      watch(stage, 'endpoint', EVICT_MS + ROOM_MS, ['tainted', 'evicted', 'endpointsUnready']),
      watch(stage, 'endpoint-stays', EVICT_MS + ROOM_MS, ['endpointsUnready']),
    ])
    note(`dies: ${text(dead)}`)
    check('then it is tainted and evicted', dead.tainted !== undefined && dead.evicted !== undefined) // prettier-ignore
    check('and no address of it is ready, also of the Pod that bears the taint for ever', dead.endpointsUnready !== undefined) // prettier-ignore
    // Nothing tells the endpoints controller that the node is no longer kept.
    note(`dies, and all Pods of the Service bear the taint: ${text(left)}`)
    await stage.plane.kubectl(['annotate', 'service', 'endpoint-stays', 'touched=yes'])
    const touched = await watch(stage, 'endpoint-stays', ROOM_MS, ['endpointsUnready'])
    note(`that Service changes: ${text(touched)}`)
    check('with the next change of its Service that one, too', touched.endpointsUnready !== undefined) // prettier-ignore
  },
}

const fail: AdmissionCell = {
  name: 'webhook-fail',
  shows: "nobody answers and failurePolicy is Fail: no node is tainted, others' writes pass",
  play: async (stage, { note, check }) => {
    await stage.register('webhook')
    await stage.setFailurePolicy('Fail')
    await stage.makeNode('fail')
    await stage.cut('fail', {})
    const kept = await watch(stage, 'fail', GRACE_MS + KEPT_MS, ['evicted'])
    note(`cut: ${text(kept)}`)
    check('it is Unknown, and neither tainted nor evicted, though nobody vouches for it', kept.unknown !== undefined && kept.tainted === undefined && kept.evicted === undefined) // prettier-ignore
    check('its Pods are not ready', kept.podUnready !== undefined)
    const labelled = await stage.plane.kubectl(['label', 'node', 'fail', 'a=b'])
    check('somebody else may write the Node', labelled.includes('labeled'))
    await stage.setFailurePolicy('Ignore')
    const ignored = await watch(stage, 'fail', EVICT_MS + ROOM_MS, ['tainted', 'evicted'])
    note(`Ignore: ${text(ignored)}`)
    check('with Ignore it is tainted and evicted', ignored.tainted !== undefined && ignored.evicted !== undefined) // prettier-ignore
  },
}

const keep: AdmissionCell = {
  name: 'keep',
  shows: 'a vouched node with the policy: its Pods stay, not ready; its peers fall silent: they go',
  needsPolicies: true,
  play: async (stage, { note, check }) => {
    await stage.keep('vouched')
    await stage.makeNode('keep')
    await stage.cut('keep', { isVouched: true })
    const kept = await watch(stage, 'keep', GRACE_MS + KEPT_MS, ['evicted'])
    note(`cut: ${text(kept)}`)
    check('it is Unknown, and neither tainted nor evicted', kept.unknown !== undefined && kept.tainted === undefined && kept.evicted === undefined) // prettier-ignore
    check('its endpoint is not ready', kept.sliceUnready !== undefined)
    note(`the policy: ${await stage.policyChecks()}`)
    stage.silence('keep')
    const silent = await watch(stage, 'keep', 30_000 + EVICT_MS + ROOM_MS, ['tainted', 'evicted'])
    note(`silent: ${text(silent)}`)
    check('then it is tainted and evicted', silent.tainted !== undefined && silent.evicted !== undefined) // prettier-ignore
  },
}

const keepSuperedge: AdmissionCell = {
  name: 'keep-superedge',
  shows: "the policy in SuperEdge's mode: nobody marks the node, nothing happens; it is marked, and goes", // prettier-ignore
  needsPolicies: true,
  play: async (stage, notes) => {
    await stage.keep('superedge')
    await keepUntilMarked(stage, 'keep-superedge', notes)
  },
}

/** A killed replica has an endpoint for a second more; what nobody reviewed then, agents take off once a second. */
const TAKEN_OFF_MS = 5_000

const killed: AdmissionCell = {
  name: 'webhook-killed',
  shows:
    'of two replicas one is killed, and nobody stays tainted or is evicted; then the other one, and it is as without',
  play: async (stage, { note, check }) => {
    await stage.register('webhook')
    await stage.replicas.start(1)
    await stage.replicas.start(2)
    const names = ['killed-1', 'killed-2']
    for (const name of names) {
      await stage.makeNode(name)
      await stage.cut(name, { isVouched: true, takesTaintOff: true })
    }
    const watchAll = (forMs: number) => Promise.all(names.map(name => watch(stage, name, forMs, ['evicted']))) // prettier-ignore
    for (const moments of await watchAll(GRACE_MS + 5_000)) note(`two replicas: ${text(moments)}`)
    const [first] = await Promise.all([watchAll(TAKEN_OFF_MS), stage.replicas.kill(1)])
    for (const moments of first) note(`one is being killed: ${text(moments)}`)
    note(`reviews that failed, by the apiserver's count: ${await stage.failedReviews()}`)
    const keptBefore = await changedBy(stage, 2, '/node-taint')
    const one = await watchAll(KEPT_MS)
    for (const moments of one) note(`one is killed: ${text(moments)}`)
    note(`reviews that failed, by the apiserver's count: ${await stage.failedReviews()}`)
    check(
      'from then on nobody is tainted, and nobody was evicted',
      one.every(({ tainted, evicted }) => tainted === undefined && evicted === undefined),
    )
    const kept = (await changedBy(stage, 2, '/node-taint')) - keptBefore
    check(`since the other one takes the taint out, of ${kept} writes`, kept > 0)
    await stage.replicas.kill(2)
    for (const name of names) stage.silence(name)
    const none = await watch(stage, 'killed-1', EVICT_MS + ROOM_MS, ['tainted', 'evicted'])
    note(`both are killed, and no agent takes the taint off: ${text(none)}`)
    check('without any it is as without the webhook', none.tainted !== undefined && none.evicted !== undefined) // prettier-ignore
  },
}

const CELLS: readonly AdmissionCell[] = [
  ...[
    nothing,
    keep,
    keepSuperedge,
    taint,
    pods,
    silent,
    superedge,
    endpoint,
    fail,
    killed,
    rotation,
  ],
]

/** Those of these names; none are all. @throws UsageError for an unknown name */
export const chooseAdmissionCells = (names: readonly string[]): readonly AdmissionCell[] => {
  const unknown = names.find(name => !CELLS.some(cell => cell.name === name))
  if (unknown !== undefined) {
    const known = CELLS.map(({ name }) => name).join(', ')
    throw new UsageError(`--cells must be of ${known}, got ${unknown}`)
  }
  return CELLS.filter(({ name }) => names.length === 0 || names.includes(name))
}

// SPDX-License-Identifier: Apache-2.0
// The chart on a real apiserver: a dry run of what it renders with each set of values, and a release from its install to its end.
import { join } from 'node:path'
import { chart, makeHelm } from '../../../testkit/helm/render.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { findTool } from '../../../testkit/find-tool.js'
import { Claims } from '../names/claims.js'
import { command } from '../shell.js'
import { playKeyJob } from './key-job.js'

const NAMESPACE = 'edge-system'
const SECRET = `/api/v1/namespaces/${NAMESPACE}/secrets/edge-health-keys`

/** What is dry-run; without the Prometheus operator's kinds, which this apiserver does not have. */
const VARIANTS: readonly (readonly string[])[] = [
  [],
  ['profile="fast"', 'options.check-period="5s"', 'zones.manageConfigMap=true'],
  ['metrics.enabled=true', 'metrics.nodes="troubled"'],
  ['options.vouch="taint"', 'admission.enabled=true', 'admission.pods=true'],
  ['grids.enabled=true', 'bridge.enabled=true', 'networkPolicy.enabled=true'],
  [
    'keys.generate=true',
    'networkPolicy.enabled=true',
    'policies.ownTaints=["example.com/dead:NoExecute"]',
  ],
  ['policies.enabled=false'],
]

/** Needs Kubernetes 1.36. */
const KEEP = ['options.vouch="taint"', 'keep.enabled=true']

/** All that may stand in one release. */
const ALL = [
  ...['keys.generate=true', 'zones.manageConfigMap=true', 'networkPolicy.enabled=true'],
  ...['options.vouch="taint"', 'admission.enabled=true', 'admission.pods=true'],
  ...['grids.enabled=true', 'bridge.enabled=true'],
]

interface Scene {
  readonly plane: ControlPlane
  readonly claims: Claims
  readonly script: string
  readonly signal: AbortSignal
}

const set = (values: readonly string[]) => values.flatMap(value => ['--set-json', value])

const dryRuns = async ({ plane, claims }: Scene, helm: string, version: string): Promise<void> => {
  const { render } = makeHelm(helm)
  const minor = Number(version.split('.')[1])
  for (const values of minor < 36 ? VARIANTS : [...VARIANTS, KEEP]) {
    const { text, objects, err } = render(values, NAMESPACE, version)
    const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-']
    const said = await plane.kubectl(args, text).catch(String)
    const taken = said.split('\n').filter(line => line.endsWith('serverside-applied (server dry run)')) // prettier-ignore
    const all = Object.keys(objects).length
    const what = `${version} takes all of [${values.join(' ')}]`
    claims.holds(what, all > 0 && taken.length === all, err + said)
  }
}

interface Listed {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    /** Where the kind has a status, which changes by itself. */
    readonly generation?: number
  }
}

/** Every object of the release's manifest as it is in the cluster. */
const look = async (
  plane: ControlPlane,
  manifest: string,
): Promise<Readonly<Record<string, string>>> => {
  const { items } = JSON.parse(await plane.kubectl(['get', '-f', '-', '-o', 'json'], manifest)) as {
    readonly items: readonly Listed[]
  }
  return Object.fromEntries(
    items.map(({ kind, metadata: { name, uid, resourceVersion, generation } }) => [
      `${kind}/${name}`,
      `${uid} ${generation ?? resourceVersion}`,
    ]),
  )
}

/** A release: install, upgrade to the same, another upgrade, uninstall. */
const release = async (scene: Scene, helmPath: string): Promise<void> => {
  const { plane, claims, signal } = scene
  const helm = (...args: readonly string[]) =>
    command('env', [
      ...['-i', `HOME=${plane.dir}`, `KUBECONFIG=${join(plane.dir, 'kubeconfig')}`],
      ...[helmPath, '-n', NAMESPACE, ...args],
    ])
  /** The Job of the hook is carried out meanwhile. */
  const withJob = async (...args: readonly string[]) => {
    const [outcome] = await Promise.all([playKeyJob(scene), helm(...args)])
    return outcome
  }
  const secret = async () => {
    const { data, metadata } = await plane.admin.get(SECRET, signal)
    return { data, version: (metadata as { resourceVersion: string }).resourceVersion }
  }
  const leftOfHooks = () =>
    plane.kubectl([
      ...[
        'get',
        'serviceaccount,role,rolebinding,job,networkpolicy,validatingadmissionpolicy',
        '-A',
        '-o',
        'name',
      ],
      ...['-l', 'app.kubernetes.io/component=keys'],
    ])

  const outcome = await withJob('install', 'edge-health', chart, ...set(ALL))
  claims.equal(
    'the job makes the key',
    outcome.made,
    `Secret ${NAMESPACE}/edge-health-keys was made`,
  )
  claims.equal(
    'its token makes no other Secret, reads none, and writes nothing else',
    outcome.others,
    [...[403, 403, 403]],
  )
  claims.equal('nothing of the job is left', await leftOfHooks(), '')
  const first = await secret()
  const key = Buffer.from((first.data as { primary: string }).primary, 'base64').toString()
  claims.equal('the key is 32 bytes in base64', Buffer.from(key, 'base64').length, 32)

  const manifest = await helm('get', 'manifest', 'edge-health')
  const before = await look(plane, manifest)
  const again = await withJob('upgrade', 'edge-health', chart, ...set(ALL))
  claims.equal('the job leaves the key as it is', again.made, `Secret ${NAMESPACE}/edge-health-keys is there already and was left as it is`) // prettier-ignore
  const after = await look(plane, manifest)
  const changed = Object.keys({ ...before, ...after }).filter(key => before[key] !== after[key])
  claims.equal('an upgrade to the same changes no object', changed, [])
  claims.equal('nor the key', await secret(), first)

  await helm('upgrade', 'edge-health', chart, ...set(['keys.generate=false', 'agent.extraArgs=["--log-level=debug"]'])) // prettier-ignore
  claims.equal('nor does an upgrade that makes none', await secret(), first)
  await helm('uninstall', 'edge-health')
  claims.equal('the key stays when the release goes', await secret(), first)
  const kinds = await plane.kubectl(['get', 'crd', '-o', 'name'])
  claims.equal('and so do the kinds of grids', kinds.match(/superedge\.io/g)?.length, 3)
  const rest = await plane.kubectl([
    ...['get', 'daemonset,deployment,service,serviceaccount,role,rolebinding,clusterrole', '-A'],
    ...['-l', 'app.kubernetes.io/part-of=edge-health', '-o', 'name'],
  ])
  claims.equal('and nothing else of it', rest, '')
}

/** @returns whether all of it holds. */
export const runChart = async (
  parts: { readonly plane: ControlPlane; readonly script: string },
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<boolean> => {
  const { plane } = parts
  const claims = new Claims(say)
  const helm = findTool('helm')
  if (helm.missing !== false) throw new Error(helm.missing)
  const scene = { ...parts, claims, signal }
  const version = String((await plane.admin.get('/version', signal))['gitVersion']).slice(1)
  for (const name of [NAMESPACE, 'kubeedge']) await plane.kubectl(['create', 'namespace', name])
  await dryRuns(scene, helm.path, version)
  await release(scene, helm.path)
  say(`${claims.passed} passed, ${claims.failed} failed`)
  return claims.failed === 0
}

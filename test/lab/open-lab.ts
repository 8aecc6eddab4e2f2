// SPDX-License-Identifier: Apache-2.0
// How a zone under a control plane comes about.
import { randomBytes } from 'node:crypto'
import { basename, join } from 'node:path'
import type { Binaries } from '../../testkit/control-plane/programs.js'
import type { ServingPair } from '../../testkit/control-plane/certificates.js'
import { auditPolicy, OWN_ACCOUNTS } from '../../testkit/control-plane/flags.js'
import { makeControlPlane, type ControlPlane } from '../../testkit/control-plane/control-plane.js'
import { CONTROLLER_FLAGS, SERVER_FLAGS, WebhookReplicas } from './admission/replicas.js'
import { allowBite } from './confine/bite.js'
import { Lab } from './lab.js'
import { LabNode } from './lab-node.js'
import { openNetwork } from './network.js'
import { otherVersion } from './other-version.js'
import { daemonTemplate } from '../../testkit/deploy/agent-pod.js'
import { applyDeploy, makeKey, type Keys } from './objects.js'
import { Observer } from './observer.js'
import type { LabOptions } from './options.js'
import { ProxyZone } from './wrapper/proxy-zone.js'
import { ZoneMeter } from './zone-meter.js'

interface LabParts {
  readonly binaries: Binaries
  readonly dir: string
  readonly serving: ServingPair
  readonly onCrash: (what: string) => void
  /** The program that listens on an interface; undefined: nothing is counted. */
  readonly meter: string | undefined
  /** The program of another version of the agent. */
  readonly other?: string | undefined
}

const nodeName = (index: number): string => `edge-${index + 1}`

/**
 * Start a control plane, lay the cables, apply deploy/base and bring up all nodes. `stop` it in any case.
 * @param install what is done in the place of applying deploy/base
 */
export const openLab = async (
  options: LabOptions,
  parts: LabParts,
  signal: AbortSignal,
  install: (plane: ControlPlane, keys: Keys) => Promise<void> = applyDeploy,
): Promise<Lab> => {
  const { binaries, dir, serving, onCrash } = parts
  const names = Array.from({ length: options.nodes }, (_, i) => nodeName(i))
  const tokens = new Map(names.map(name => [name, randomBytes(16).toString('hex')]))
  const users = [...tokens].map(([name, token]) => ({
    token,
    name: `system:node:${name}`,
    groups: ['system:nodes'],
  }))
  const crashed = ({ title }: { title: string }, lines: readonly string[]): void =>
    onCrash([`${title} ended by itself`, ...lines].join('\n  '))
  const plane = await makeControlPlane({
    ...{ binaries, dir, serving, users, onCrash: crashed },
    graceMs: options.graceMs,
    ...{ serverFlags: SERVER_FLAGS, controllerFlags: CONTROLLER_FLAGS },
    auditPolicy: auditPolicy(OWN_ACCOUNTS),
  })
  try {
    const [network] = await Promise.all([openNetwork(options.nodes), plane.start(signal)])
    const meter = parts.meter === undefined ? undefined : await ZoneMeter.open(parts.meter, names)
    const keys = { primary: makeKey() }
    await install(plane, keys)
    await allowBite(plane)
    const { args: daemonArgs } = (await daemonTemplate(plane.admin, signal)).spec.containers[0]!
    const args = [...daemonArgs, `--identity=${options.identity}`]
    const script = join(process.cwd(), 'dist/edge-health.cjs')
    const other = parts.other === undefined ? undefined : otherVersion(parts.other, args)
    const shared = { script, other, args, ca: serving.cert, onCrash: crashed }
    const settings = { ...shared, profile: options.profile, run: basename(dir) }
    const nodes = network.nodes.map(
      (space, index) => new LabNode({ name: names[index]!, index, space }, settings),
    )
    const observer = new Observer(nodes, plane.admin, plane.auditLog)
    const { stranger } = network
    const kubeProxy = binaries['kube-proxy']
    const proxies = new ProxyZone({ nodes, plane, script, kubeProxy, onCrash: crashed })
    return new Lab(options, {
      plane,
      nodes,
      observer,
      proxies,
      stranger,
      keys,
      meter,
      webhook: new WebhookReplicas({ plane, script, signal }),
      kubeletTokens: tokens,
    })
  } catch (error) {
    await plane.stop()
    throw error
  }
}

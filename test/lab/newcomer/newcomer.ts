// SPDX-License-Identifier: Apache-2.0
// What somebody sees who installs the chart for the first time: from an empty cluster through a dead node to the end of the release.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StatusView } from '../../../agent/http/status-view.js'
import { UNHEALTHY_ANNOTATION } from '../../../core/marks.js'
import { daemonTemplate } from '../../../testkit/deploy/agent-pod.js'
import { findTool } from '../../../testkit/find-tool.js'
import { ruleGroups } from '../../../testkit/prometheus/rules.js'
import { startPrometheus, type Prometheus } from '../../../testkit/prometheus/server.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import type { Lab } from '../lab.js'
import { Claims } from '../names/claims.js'
import { waitFor } from '../patience.js'
import type { Keys } from '../objects.js'
import { listOf, unlike } from './looks.js'
import { makePath, type Programs } from './path.js'
import { Transcript } from './transcript.js'

const NAMESPACE = 'edge-system'
const ZONE = 'superedgehealth/topology-zone'
const PATIENCE_MS = 240_000

const INTRODUCTION = `# A first zone

<!-- Made by npm run lab -- newcomer --nodes 4 --report docs, on a real apiserver. -->
<!-- prettier-ignore-start -->

From an empty cluster to a dead node, its alert and its explanation, and back to an empty cluster: the commands and their output. The nodes are
network namespaces of one machine with kubelets that run no containers; agents, API server, policies and Prometheus are real. So that it takes
minutes, the periods are short (\`profile=fast\`), as is the control plane's patience.`

/** The transcript of a release, and what must hold of it. */
export class Newcomer {
  readonly claims: Claims
  readonly #programs: Programs
  readonly #say: (line: string) => void
  #page!: Transcript

  constructor(programs: Programs, say: (line: string) => void) {
    this.#programs = programs
    this.#say = say
    this.claims = new Claims(say)
  }

  get text(): string {
    return this.#page.text
  }

  /** In the place of an operator who applies deploy/base. */
  readonly install = async (plane: ControlPlane, keys: Keys): Promise<void> => {
    const helm = findTool('helm')
    if (helm.missing !== false) throw new Error(helm.missing)
    const PATH = makePath(plane, this.#programs, helm.path)
    const env = { PATH, HOME: plane.dir, KUBECONFIG: join(plane.dir, 'kubeconfig'), KEY: keys.primary } // prettier-ignore
    this.#page = new Transcript(env, this.#say)
    const page = this.#page
    page.write(INTRODUCTION)
    page.write('## Install')
    const values = '--set profile=fast --set zones.manageConfigMap=true'
    const answer = await page.run(`helm install edge-health charts/edge-health -n ${NAMESPACE} --create-namespace ${values}`) // prettier-ignore
    this.claims.equal('helm installs it', answer.code, 0)
    page.write('The agents vote once they have a key; `$KEY` is 32 random bytes, `openssl rand -base64 32`:') // prettier-ignore
    const made = await page.run(`kubectl -n ${NAMESPACE} create secret generic edge-health-keys --from-literal=primary="$KEY"`) // prettier-ignore
    this.claims.equal('there is a key', made.code, 0)
    // The lab's own Pods.
    await plane.kubectl(['create', 'service', 'clusterip', 'shop', '--tcp=80:80'])
  }

  /** Everything after the agents run. */
  async play(lab: Lab, signal: AbortSignal): Promise<void> {
    const server = await this.#watch(lab)
    try {
      await this.#firstLook(lab, signal)
      await this.#death(lab, server, signal)
      await this.#upgrade(lab, signal)
    } finally {
      await server.stop()
    }
    await this.#uninstall(lab)
  }

  async #watch(lab: Lab): Promise<Prometheus> {
    const prometheus = findTool('prometheus')
    if (prometheus.missing !== false) throw new Error(prometheus.missing)
    const targets = lab.nodes.map(({ name, localUrl }) => ({
      ...{ job: 'edge-health', address: new URL(localUrl).host },
      labels: { node: name, node_zone: 'site-a' },
    }))
    return startPrometheus(prometheus.path, targets, ruleGroups())
  }

  #until(
    what: string,
    look: () => Promise<string | undefined>,
    signal: AbortSignal,
  ): Promise<void> {
    return waitFor({ what, limitMs: PATIENCE_MS, look }, signal)
  }

  /** All agents that run call these nodes down, and all others up. */
  #agreed(lab: Lab, down: readonly string[], signal: AbortSignal): Promise<void> {
    const look = async (): Promise<string | undefined> => {
      const { states } = await lab.observer.look()
      return listOf(
        [...states].flatMap(([name, { down: votes, of, done }]) => {
          const isSo = down.includes(name) ? votes === of : votes === 0 && done === 'running'
          return isSo ? [] : [`${name} (${done}) is down for ${votes} of ${of}`]
        }),
      )
    }
    return this.#until(`agents agree that [${down.join()}] are down, and nobody else`, look, signal)
  }

  /** The text of an agent's page, as somebody on the node sees it. */
  async #ask(lab: Lab, node: string, path: string): Promise<string> {
    const answer = await fetch(`${lab.node(node).localUrl}${path}`)
    const text = await answer.text()
    this.#page.show(`curl -s 'localhost:51005${path}'   # on ${node}`, text)
    return text
  }

  async #firstLook(lab: Lab, signal: AbortSignal): Promise<void> {
    const { claims } = this
    const page = this.#page
    page.write('## A zone')
    page.write('Nodes with the same value of a label judge each other:')
    await page.run(`kubectl label nodes --all ${ZONE}=site-a`)
    await this.#agreed(lab, [], signal)
    const look = async (): Promise<string | undefined> => {
      const answers = await Promise.all(lab.nodes.map(async ({ localUrl }) => (await fetch(`${localUrl}/status`)).json())) // prettier-ignore
      return listOf((answers as StatusView[]).flatMap(view => unlike(view, lab.nodes.length)))
    }
    await this.#until('all of the zone is healthy', look, signal)
    const zones = await page.run('kubectl edge-health zones')
    claims.equal('all is well', zones.code, 0)
    claims.holds('the zone is told by its name', zones.text.includes('site-a'), zones.text)
    page.write('What an agent knows, from anywhere through `kubectl -n edge-system port-forward ds/edge-health-agent 51005`:') // prettier-ignore
    claims.holds('the agent tells', (await this.#ask(lab, 'edge-1', '/status?format=text')).includes('edge-3')) // prettier-ignore
    page.write('Whether anything is wrong with a node or its zone:')
    const answer = await lab.node('edge-1').cli(['doctor'])
    page.show('edge-health doctor   # in the agent’s Pod on edge-1', answer)
    claims.holds('doctor finds no fault', /^0 fail/m.test(answer), answer)
    for (const check of ['apiserver', 'clock', 'rbac', 'policies', 'roster', 'peers'])
      claims.holds(
        `doctor: ${check} is well`,
        new RegExp(`^ok +${check} `, 'm').test(answer),
        answer,
      )
  }

  async #death(lab: Lab, server: Prometheus, signal: AbortSignal): Promise<void> {
    const { claims } = this
    const page = this.#page
    page.write('## A node dies')
    page.write(
      'Somebody pulls the plug of edge-3. Its peers agree, and one of them writes it down:',
    )
    const startedAt = performance.now()
    await lab.node('edge-3').kill()
    const markOf = () => lab.observer.nodes.get('edge-3')?.metadata.annotations?.[UNHEALTHY_ANNOTATION] // prettier-ignore
    const marked = (mark: string | undefined) => async () =>
      markOf() === mark ? undefined : `${UNHEALTHY_ANNOTATION} is ${markOf() ?? 'not there'}`
    await this.#until('edge-3 is marked', marked('yes'), signal)
    page.write(`${((performance.now() - startedAt) / 1_000).toFixed(1)} s later:`)
    const zones = await page.run('kubectl edge-health zones')
    claims.equal('zones says by its exit code that somebody is dead', zones.code, 1)
    const nodes = await page.run('kubectl edge-health nodes --zone site-a')
    claims.holds('nodes names it', /edge-3 +dead/.test(nodes.text), nodes.text)
    page.write('A minute later the [alert](runbook.md) fires in Prometheus:')
    const firing = async () => (await server.alerts()).find(({ state }) => state === 'firing')
    const fires = async (): Promise<string | undefined> => {
      const alerts = await server.alerts()
      if (alerts.some(({ state }) => state === 'firing')) return undefined
      return (
        listOf(alerts.map(({ labels, state }) => `${labels['alertname']} is ${state}`)) ??
        'no alert'
      )
    }
    await this.#until('an alert fires', fires, signal)
    const alert = await firing()
    claims.equal('it is that one', alert!.labels['alertname'], 'EdgeHealthNodeDead')
    const { summary = '', description = '', runbook_url: runbook = '' } = alert!.annotations
    page.write(`> **${alert!.labels['alertname']!}** (${alert!.labels['severity']!}): ${summary}\n> ${description}\n> [${runbook}](${runbook.replace('docs/', '')})`) // prettier-ignore
    page.write('Why:')
    claims.equal('kubectl explains', (await page.run('kubectl edge-health explain edge-3')).code, 1)
    const why = await this.#ask(lab, 'edge-1', '/explain/edge-3?format=text')
    claims.holds('its peer explains', why.includes('edge-3'), why)
    page.write('Power is back:')
    lab.node('edge-3').revive()
    await this.#until('edge-3 is not marked', marked(undefined), signal)
    await this.#agreed(lab, [], signal)
    claims.equal('all is well again', (await page.run('kubectl edge-health zones')).code, 0)
  }

  async #upgrade(lab: Lab, signal: AbortSignal): Promise<void> {
    const { claims } = this
    const page = this.#page
    page.write('## Upgrade')
    page.write(
      'Another version, or another option; the DaemonSet restarts one agent after the other:',
    )
    const answer = await page.run(`helm upgrade edge-health charts/edge-health -n ${NAMESPACE} --reuse-values --set-json 'agent.extraArgs=["--log-level=debug"]'`) // prettier-ignore
    claims.equal('helm upgrades it', answer.code, 0)
    const { args } = (await daemonTemplate(lab.plane.admin, signal)).spec.containers[0]!
    claims.holds('the agents get the option', args.includes('--log-level=debug'), args.join(' '))
    for (const node of lab.nodes) {
      await node.stopAgent()
      node.moreArgs = ['--log-level=debug']
      node.startAgent()
      await this.#agreed(lab, [], signal)
    }
    const zones = await page.run('kubectl edge-health zones')
    claims.equal('nobody was called dead', zones.code, 0)
    const events = await page.run('kubectl get events -A --field-selector reportingComponent=edge-health-agent -o custom-columns=REASON:.reason,NODE:.involvedObject.name,NOTE:.message') // prettier-ignore
    claims.equal('the Events are those of the death', events.code, 0)
  }

  async #uninstall(lab: Lab): Promise<void> {
    const { claims } = this
    const page = this.#page
    page.write('## Take it away')
    claims.equal('helm uninstalls it', (await page.run(`helm uninstall edge-health -n ${NAMESPACE}`)).code, 0) // prettier-ignore
    await Promise.all(lab.nodes.map(node => node.stopAgent()))
    // As the DaemonSet's controller does, which does not run here.
    await lab.plane.kubectl(['-n', NAMESPACE, 'delete', 'pods', '--all', '--force', '--grace-period=0']) // prettier-ignore
    await page.run('kubectl annotate nodes --all nodeunhealth- edge-health/reason- edge-health/identity-') // prettier-ignore
    const left = await page.run(`kubectl get all,secret -n ${NAMESPACE} -l app.kubernetes.io/part-of=edge-health`) // prettier-ignore
    claims.equal(
      'nothing of it is left',
      left.text,
      `No resources found in ${NAMESPACE} namespace.`,
    )
    page.write('The Secret with the key stays, and so does the condition `PeerHealth` of each Node, as it was written last.') // prettier-ignore
  }

  /** Write the page. */
  write(folder: string): void {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'first-zone.md'), `${this.text}\n<!-- prettier-ignore-end -->\n`)
  }
}

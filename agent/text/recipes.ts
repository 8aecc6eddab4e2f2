// SPDX-License-Identifier: Apache-2.0
import type { NodeStatus } from '../http/status-view.js'

/** A line to copy, and what it shows. */
export interface Recipe {
  readonly shows: string
  /** `anywhere` with kubectl, on a `neighbour` of the node such as this one, or on the node `itself`. */
  readonly where: 'anywhere' | 'neighbour' | 'itself'
  readonly line: string
}

/** Names and addresses come from the API: what a shell would take for more than a word is quoted. */
const quote = (word: string): string =>
  /^\w[\w.:-]*$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

const hostOf = (address: string): string => (address.includes(':') ? `[${address}]` : address)

/** What to try next about a node; `namespace` is the agents'. */
export const recipesFor = (
  node: Pick<NodeStatus, 'name' | 'address' | 'class'>,
  namespace: string,
): readonly Recipe[] => {
  const name = quote(node.name)
  const address = quote(node.address)
  const host = quote(hostOf(node.address))
  const pods = `kubectl -n ${quote(namespace)} get pods -l app.kubernetes.io/name=edge-health-agent --field-selector spec.nodeName=${name}`
  const recipe = (where: Recipe['where'], shows: string, line: string): Recipe => ({
    ...{ shows, where, line },
  })
  return [
    recipe('anywhere', 'Node, conditions, taints', `kubectl describe node ${name}`),
    recipe(
      'anywhere',
      'Events about it',
      `kubectl get events -A --field-selector involvedObject.kind=Node,involvedObject.name=${name}`,
    ),
    recipe(
      'anywhere',
      'what runs on it',
      `kubectl get pods -A -o wide --field-selector spec.nodeName=${name}`,
    ),
    recipe('anywhere', 'its agent', `${pods} -o wide`),
    recipe(
      'anywhere',
      'what its agent logged',
      `kubectl -n ${quote(namespace)} logs --tail=50 "$(${pods} -o name)"`,
    ),
    recipe('neighbour', 'does it answer a ping', `ping -c 3 -- ${address}`),
    recipe('neighbour', 'does its kubelet answer', `curl -ksm 3 https://${host}:10250/healthz`),
    recipe('itself', 'log in, also while its cloud link is cut', `ssh -- ${address}`),
    recipe('itself', 'its kubelet', 'systemctl status kubelet; journalctl -u kubelet -n 50 --no-pager'), // prettier-ignore
    recipe('itself', 'what runs, without the apiserver', 'crictl ps -a'),
    recipe(
      'itself',
      'what its agent logged',
      'crictl logs --tail 50 "$(crictl ps -q --name edge-health-agent)"',
    ),
    recipe('itself', 'the zone as its agent sees it', "curl -s '127.0.0.1:51005/status?format=text'"), // prettier-ignore
  ]
}

// SPDX-License-Identifier: Apache-2.0
// One Pod of the agent's DaemonSet, made by hand, and the token that its kubelet would mount.
import type { ApiClient, Json } from '../../sandbox/api-client.js'

const AGENT_PODS = '/api/v1/namespaces/edge-system/pods'
const DAEMON_SET = '/apis/apps/v1/namespaces/edge-system/daemonsets/edge-health-agent'
const ACCOUNT = '/api/v1/namespaces/edge-system/serviceaccounts/edge-health-agent'

export interface Template {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> }
  readonly spec: Json & { readonly containers: readonly { readonly args: readonly string[] }[] }
}

/** The Pod template that deploy/base brought about. */
export const daemonTemplate = async (api: ApiClient, signal: AbortSignal): Promise<Template> => {
  const set = (await api.get(DAEMON_SET, signal)) as unknown as { spec: { template: Template } }
  return set.spec.template
}

/** What the agent's Pod on a node is called. */
export const agentPod = (node: string): string => `edge-health-agent-${node}`

/**
 * The agent's Pod on a node, as the DaemonSet's controller would make it, and the token that its kubelet would mount.
 * The token is bound to the Pod, so the audit log knows the node that spoke.
 */
export const createAgentPod = async (
  api: ApiClient,
  node: string,
  template: Template,
  signal: AbortSignal,
): Promise<string> => {
  const name = agentPod(node)
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: template.metadata.labels },
    spec: { ...template.spec, nodeName: node },
  }
  const made = (await api.post(AGENT_PODS, pod, signal)) as { metadata?: { uid?: string } }
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {
      expirationSeconds: 86_400,
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid: made.metadata?.uid },
    },
  }
  const answer = (await api.post(`${ACCOUNT}/token`, request, signal)) as {
    status?: { token?: string }
  }
  return answer.status?.token ?? ''
}

// SPDX-License-Identifier: Apache-2.0
import { inGroups, type Definitions, type OptionSet } from '../../options/definition.js'
import {
  boolean,
  duration,
  listenAddress,
  objectName,
  oneOf,
  optional,
  path,
  type Kind,
  type ListenAddress,
} from '../../options/kinds.js'
import { klogFlags } from '../../options/klog.js'
import {
  kubeconfigOption,
  logLevelOption,
  masterUrlOption,
  explainingStatusAddressOption,
} from '../../options/shared-definitions.js'
import type { AdmissionOptions } from './admission-options.js'

type Group = 'Kubernetes' | 'Keeping' | 'Listening' | 'Certificates' | 'Log'

/** As in SuperEdge's default: `:8443` is port 8443 on every IPv4 address. */
const anyAddress: Kind<ListenAddress> = {
  ...listenAddress,
  rule: 'must be an IP address and a port such as 0.0.0.0:8443, [::]:8443 or :8443',
  brief: 'IP:port or :port',
  parse: (text, thing) =>
    listenAddress.parse(text.startsWith(':') ? `0.0.0.0${text}` : text, thing),
}

/** Each option once: the only place that holds its name, unit, default and description. */
export const admissionDefinitions: Definitions<AdmissionOptions, Group> = {
  kubeconfig: { ...kubeconfigOption, aliases: [{ name: 'kubeconfigpath' }] },
  masterUrl: { ...masterUrlOption, aliases: [{ name: 'masterurl' }] },
  mode: {
    flag: 'mode',
    group: 'Keeping',
    kind: oneOf('vouched', 'superedge'),
    default: 'vouched',
    summary:
      'vouched: a node that the control plane does not hear is kept while its peers vouch for it',
    relation: 'superedge: it is kept unless it is marked nodeunhealth, whether it is alive or not',
  },
  freshForMs: {
    flag: 'fresh-for',
    group: 'Keeping',
    kind: duration('5s', '10m'),
    default: '30s',
    summary: 'how old the condition PeerHealth may be',
    relation: "three times the agents' --vouch-renew-period; with --mode=vouched",
  },
  alwaysReachable: {
    flag: 'always-reachable',
    group: 'Keeping',
    kind: boolean,
    default: 'false',
    summary:
      'keep nodes that are marked nodeunhealth, too: no node is ever evicted for being silent',
    relation: 'with --mode=superedge only',
  },
  listenAddress: {
    flag: 'listen-address',
    group: 'Listening',
    kind: anyAddress,
    default: '0.0.0.0:8443',
    summary: "address at which the apiserver's reviews are answered, over TLS",
    aliases: [{ name: 'adminssion-control-listen-addr' }],
  },
  statusAddress: { ...explainingStatusAddressOption, default: '127.0.0.1:51010' },
  namespace: {
    flag: 'namespace',
    group: 'Certificates',
    kind: objectName,
    default: 'edge-system',
    summary:
      'namespace of the Service and the Secret; objects in it and in kube-system are never changed',
    env: 'POD_NAMESPACE',
  },
  serviceName: {
    flag: 'service-name',
    group: 'Certificates',
    kind: objectName,
    default: 'edge-health-webhook',
    summary: 'Service through which the apiserver reaches the webhook; the certificate names it',
  },
  registration: {
    flag: 'registration',
    group: 'Certificates',
    kind: objectName,
    default: 'edge-health-webhook',
    summary: 'name of the webhook configurations, whose caBundle is kept up to date',
  },
  secretName: {
    flag: 'secret-name',
    group: 'Certificates',
    kind: objectName,
    default: 'edge-health-webhook-certificates',
    summary: 'name of the Secret with the certificate that all replicas share',
  },
  certFile: {
    flag: 'cert-file',
    group: 'Certificates',
    kind: optional(path),
    default: '',
    summary:
      'certificate that you maintain yourself, PEM; the webhook then writes neither Secret nor caBundle',
    relation: 'with --key-file; read again every 30 s',
    aliases: [{ name: 'admission-control-server-cert' }],
  },
  keyFile: {
    flag: 'key-file',
    group: 'Certificates',
    kind: optional(path),
    default: '',
    summary: 'key of the certificate in --cert-file, PEM',
    aliases: [{ name: 'admission-control-server-key' }],
  },
  logLevel: logLevelOption,
}

/** In the order of help and reference. */
const groups: Readonly<Record<Group, string>> = {
  Kubernetes: 'How Kubernetes is reached',
  Keeping: 'Which nodes are kept',
  Listening: 'Where we listen',
  Certificates: 'How the apiserver knows us',
  Log: 'What is logged',
}

/** The options of the webhook. */
export const admissionOptionSet: OptionSet = {
  command: 'admission',
  example: admissionDefinitions.freshForMs.flag,
  groups,
  definitions: inGroups(groups, Object.values(admissionDefinitions)),
  profiles: {},
  ignored: { ...klogFlags },
}

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
    summary: 'vouched: a node that is not heard is kept while its peers vouch for it',
    relation: 'superedge: as long as nobody marks it nodeunhealth, whether it lives or not',
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
    relation: 'with --mode=superedge alone',
  },
  listenAddress: {
    flag: 'listen-address',
    group: 'Listening',
    kind: anyAddress,
    default: '0.0.0.0:8443',
    summary: "where the apiserver's reviews are answered, over TLS",
    aliases: [{ name: 'adminssion-control-listen-addr' }],
  },
  statusAddress: { ...explainingStatusAddressOption, default: '127.0.0.1:51010' },
  namespace: {
    flag: 'namespace',
    group: 'Certificates',
    kind: objectName,
    default: 'edge-system',
    summary:
      'where the Service and the Secret are; objects in it and in kube-system pass as they are',
    env: 'POD_NAMESPACE',
  },
  serviceName: {
    flag: 'service-name',
    group: 'Certificates',
    kind: objectName,
    default: 'edge-health-webhook',
    summary: 'the Service that the apiserver asks; the certificate is for it',
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
    summary: 'name of the Secret by which all replicas have one certificate',
  },
  certFile: {
    flag: 'cert-file',
    group: 'Certificates',
    kind: optional(path),
    default: '',
    summary:
      'a certificate that somebody else keeps, PEM; then no Secret and no caBundle is touched',
    relation: 'with --key-file; read again every 30 s',
    aliases: [{ name: 'admission-control-server-cert' }],
  },
  keyFile: {
    flag: 'key-file',
    group: 'Certificates',
    kind: optional(path),
    default: '',
    summary: 'its key, PEM',
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

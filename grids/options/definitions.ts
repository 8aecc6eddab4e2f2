// SPDX-License-Identifier: Apache-2.0
import { inGroups, type Definitions, type OptionSet } from '../../options/definition.js'
import { duration, integer } from '../../options/kinds.js'
import { klogFlags } from '../../options/klog.js'
import {
  kubeconfigOption,
  leaderIdentityOption,
  leaseNameOption,
  leaseNamespaceOption,
  logLevelOption,
  masterUrlOption,
  statusAddressOption,
} from '../../options/shared-definitions.js'
import type { GridsOptions } from './grids-options.js'

type Group = 'Kubernetes' | 'Guards' | 'Leader' | 'Listening' | 'Log'

/** Each option once: the only place that holds its name, unit, default and description. */
export const gridsDefinitions: Definitions<GridsOptions, Group> = {
  kubeconfig: kubeconfigOption,
  masterUrl: { ...masterUrlOption, aliases: [{ name: 'master' }] },
  writesAtOnce: {
    flag: 'writes-at-once',
    group: 'Kubernetes',
    kind: integer(1, 64),
    default: '16',
    summary: 'how many children are written at the same time, over all grids',
  },
  unitGraceMs: {
    flag: 'unit-grace',
    group: 'Guards',
    kind: duration('0s', '168h'),
    default: '5m',
    summary: 'how long a unit must have no nodes before its children are deleted',
    relation: 'when more than 40 % of the units are gone at once, nothing is deleted at all',
  },
  leaseNamespace: {
    ...leaseNamespaceOption,
    summary: 'namespace of the Lease that elects the leader',
    aliases: [{ name: 'leader-elect-resource-namespace' }],
  },
  leaseName: {
    ...leaseNameOption,
    default: 'edge-health-grids',
    aliases: [{ name: 'leader-elect-resource-name' }],
  },
  identity: {
    ...leaderIdentityOption,
    summary: "name of this process in the Lease and in Events; none: the machine's name",
  },
  statusAddress: { ...statusAddressOption, default: '127.0.0.1:51008' },
  logLevel: logLevelOption,
}

/** In the order of help and reference. */
const groups: Readonly<Record<Group, string>> = {
  Kubernetes: 'How Kubernetes is reached',
  Guards: 'What may be deleted',
  Leader: 'Who leads',
  Listening: 'Where we listen',
  Log: 'What is logged',
}

const FLOW = '--writes-at-once limits writes, and the apiserver limits clients itself'
const LEASE = 'there is always a Lease, and its times are fixed'

/** The options of the grids' controller. */
export const gridsOptionSet: OptionSet = {
  command: 'grids',
  example: gridsDefinitions.unitGraceMs.flag,
  groups,
  definitions: inGroups(groups, Object.values(gridsDefinitions)),
  profiles: {},
  ignored: {
    ...klogFlags,
    'kube-qps': FLOW,
    'kube-burst': FLOW,
    worker: FLOW,
    'sync-period': 'changes are watched, and there is no periodic resync',
    'feature-gates': 'there are none',
    'leader-elect': LEASE,
    'leader-elect-lease-duration': LEASE,
    'leader-elect-renew-deadline': LEASE,
    'leader-elect-retry-period': LEASE,
    'leader-elect-resource-lock': 'the lock is a Lease',
  },
}

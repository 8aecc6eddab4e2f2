// SPDX-License-Identifier: Apache-2.0
import * as defaults from './defaults.js'
import { SERVICE_FIELDS, WORKLOAD_FIELDS } from './fields/field-rules.js'
import { eventForm, sliceForm } from './forms.js'
import { secretTrouble } from './readable.js'
import { row, type Row } from './row.js'
import * as rules from './validate.js'
import { checkStatefulSet, checkWorkload } from './validate-workload.js'

/** Labels that are equal to their paths. */
const plain = (...paths: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(paths.map(path => [path, path]))

const ABOUT = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath']

const event = {
  resource: 'events',
  singular: 'event',
  kind: 'Event',
  shortNames: ['ev'],
  putCreates: true,
}

const slice = {
  group: 'discovery.k8s.io',
  resource: 'endpointslices',
  singular: 'endpointslice',
  kind: 'EndpointSlice',
  generation: 'all' as const,
  fill: defaults.fillSlice,
}

const workload = {
  group: 'apps',
  status: true,
  generation: 'spec' as const,
  lists: Object.fromEntries(
    ['containers', 'initContainers', 'volumes'].map(list => [`spec.template.spec.${list}`, 'name']),
  ),
  owned: WORKLOAD_FIELDS,
  scale: { replicas: 'spec.replicas', current: 'status.replicas', selector: 'spec.selector' },
  fill: defaults.fillWorkload,
  check: checkWorkload,
}

/** What new resources are made of. */
export const DEFINITIONS = row({
  group: 'apiextensions.k8s.io',
  resource: 'customresourcedefinitions',
  singular: 'customresourcedefinition',
  kind: 'CustomResourceDefinition',
  shortNames: ['crd', 'crds'],
  namespaced: false,
  status: true,
  generation: 'spec',
  putNeedsVersion: true,
  admit: defaults.admitDefinition,
  check: rules.checkDefinition,
})

/** Everything that the server knows by itself. The first row of a group's resource is the preferred version. */
export const ROWS: readonly Row[] = [
  row({
    resource: 'namespaces',
    singular: 'namespace',
    kind: 'Namespace',
    shortNames: ['ns'],
    namespaced: false,
    status: true,
    fields: plain('status.phase'),
    lists: { 'status.conditions': 'type' },
    admit: defaults.admitNamespace,
  }),
  row({
    resource: 'nodes',
    singular: 'node',
    kind: 'Node',
    shortNames: ['no'],
    namespaced: false,
    status: true,
    fields: { 'spec.unschedulable': 'spec.unschedulable=false' },
    lists: { 'status.conditions': 'type', 'status.addresses': 'type', 'spec.podCIDRs': '' },
    admit: defaults.admitNode,
    check: rules.checkNode,
  }),
  row({
    resource: 'configmaps',
    singular: 'configmap',
    kind: 'ConfigMap',
    shortNames: ['cm'],
    owned: {},
    check: rules.checkConfigMap,
  }),
  row({
    resource: 'secrets',
    singular: 'secret',
    kind: 'Secret',
    fields: plain('type'),
    fill: defaults.fillSecret,
    trouble: secretTrouble,
    check: rules.checkSecret,
  }),
  row({
    resource: 'services',
    singular: 'service',
    kind: 'Service',
    shortNames: ['svc'],
    status: true,
    putCreates: true,
    deleteReturnsObject: true,
    fields: plain('spec.clusterIP', 'spec.type'),
    lists: { 'spec.ports': 'port', 'status.conditions': 'type' },
    owned: SERVICE_FIELDS,
    fill: defaults.fillService,
    admit: defaults.admitService,
    check: rules.checkService,
  }),
  row({
    ...workload,
    resource: 'deployments',
    singular: 'deployment',
    kind: 'Deployment',
    shortNames: ['deploy'],
  }),
  row({
    ...workload,
    resource: 'statefulsets',
    singular: 'statefulset',
    kind: 'StatefulSet',
    shortNames: ['sts'],
    check: checkStatefulSet,
  }),
  DEFINITIONS,
  row({
    resource: 'endpoints',
    singular: 'endpoints',
    kind: 'Endpoints',
    shortNames: ['ep'],
    putCreates: true,
  }),
  row({
    resource: 'pods',
    singular: 'pod',
    kind: 'Pod',
    shortNames: ['po'],
    status: true,
    generation: 'spec',
    deleteReturnsObject: true,
    fields: plain('spec.nodeName', 'spec.restartPolicy', 'spec.schedulerName', 'status.phase'),
    lists: {
      'spec.containers': 'name',
      'spec.containers.env': 'name',
      'spec.containers.ports': 'containerPort',
      'spec.containers.volumeMounts': 'mountPath',
      'spec.initContainers': 'name',
      'spec.volumes': 'name',
      'status.conditions': 'type',
      'status.podIPs': 'ip',
    },
    fill: defaults.fillPod,
    admit: defaults.admitPod,
    check: rules.checkPod,
  }),
  row({
    ...event,
    fields: {
      ...plain(...ABOUT.map(field => `involvedObject.${field}`)),
      ...plain('reason', 'reportingComponent', 'type'),
      source: 'source.component',
    },
    check: rules.checkEvent,
  }),
  row({
    ...event,
    group: 'events.k8s.io',
    form: eventForm,
    fields: {
      ...Object.fromEntries(ABOUT.map(field => [`regarding.${field}`, `involvedObject.${field}`])),
      ...plain('reason', 'type'),
      reportingController: 'reportingComponent',
    },
    check: rules.checkNewEvent,
  }),
  row({
    group: 'coordination.k8s.io',
    resource: 'leases',
    singular: 'lease',
    kind: 'Lease',
    putCreates: true,
    putNeedsVersion: true,
    check: rules.checkLease,
  }),
  row({ ...slice, check: rules.checkSlice }),
  row({ ...slice, version: 'v1beta1', form: sliceForm, check: rules.checkSlice }),
]

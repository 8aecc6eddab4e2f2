// SPDX-License-Identifier: Apache-2.0
import * as defaults from './defaults.js'
import {
  METADATA_FIELDS,
  SERVICE_FIELDS,
  WORKLOAD_FIELDS,
  type FieldRules,
} from './fields/field-rules.js'
import { eventForm, sliceForm, type Form } from './forms.js'
import type { JsonMap, KubeObject } from './object.js'
import type { ListKeys } from './patch-strategic.js'
import type { StatusCause } from '../../core/errors.js'
import { secretTrouble } from './readable.js'
import * as rules from './validate.js'
import { checkStatefulSet, checkWorkload } from './validate-workload.js'

/** One resource as it is served under one group and version. A new kind is a new row. */
export interface Row {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly singular: string
  readonly kind: string
  readonly shortNames: readonly string[]
  readonly namespaced: boolean
  /** Rows with the same storage are views of the same objects. */
  readonly storage: string
  /** `status` is written through the subresource of that name, and nothing else is. */
  readonly status: boolean
  /** Field selectors: label → path in the stored form, and `=` what an absent field counts as. */
  readonly fields: Readonly<Record<string, string>>
  /** Lists that merge in a strategic-merge patch; undefined where none is taken. */
  readonly lists: ListKeys | undefined
  /**
   * How the fields of its objects are owned. Undefined: no account is kept, as of what kubelets write every few seconds,
   * and server-side apply is not served.
   */
  readonly owned?: FieldRules | undefined
  /** The scale subresource, where there is one. */
  readonly scale?: ScalePaths | undefined
  /** Made by a CustomResourceDefinition. */
  readonly isCustom: boolean
  /** What metadata.generation counts: changes of the spec, of everything but the status, or nothing. */
  readonly generation: 'spec' | 'all' | 'none'
  /** A PUT to a missing name makes it. */
  readonly putCreates: boolean
  /** A PUT must name the resourceVersion that it replaces. */
  readonly putNeedsVersion: boolean
  /** A delete answers with the object rather than with a Status. */
  readonly deleteReturnsObject: boolean
  /** How this version differs from the stored form; undefined when it is the stored form. */
  readonly form?: Form | undefined
  /** Fill in what the server adds to every object that is written. */
  readonly fill?: ((object: JsonMap) => void) | undefined
  /** Fill in what the server adds to a new object alone. */
  readonly admit?: ((object: KubeObject, allocate: defaults.Allocate) => void) | undefined
  /** Why an object cannot even be read; undefined when it can. */
  readonly trouble?: ((object: JsonMap) => string | undefined) | undefined
  /** What is wrong with an object beside its metadata. */
  readonly check?:
    ((object: KubeObject, old: KubeObject | undefined) => readonly StatusCause[]) | undefined
}

/** Where an object keeps what its scale shows; dotted. */
export interface ScalePaths {
  readonly replicas: string
  readonly current: string
  /** A label selector, or its text. */
  readonly selector: string
}

type Given = Pick<Row, 'resource' | 'singular' | 'kind'> & Partial<Row>

const METADATA_LISTS: ListKeys = { 'metadata.finalizers': '', 'metadata.ownerReferences': 'uid' }

/** A resource of a built-in kind; what it does not say is as most kinds have it. */
const row = (given: Given): Row => ({
  group: '',
  version: 'v1',
  shortNames: [],
  namespaced: true,
  storage: given.resource,
  status: false,
  generation: 'none',
  putCreates: false,
  putNeedsVersion: false,
  deleteReturnsObject: false,
  isCustom: false,
  ...given,
  fields: {
    'metadata.name': 'metadata.name',
    ...(given.namespaced === false ? {} : { 'metadata.namespace': 'metadata.namespace' }),
    ...given.fields,
  },
  lists: { ...METADATA_LISTS, ...given.lists },
  ...(given.owned === undefined ? {} : { owned: { ...METADATA_FIELDS, ...given.owned } }),
})

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

/** `v1`, or `coordination.k8s.io/v1`. */
export const groupVersion = (of: { readonly group: string; readonly version: string }): string =>
  of.group === '' ? of.version : `${of.group}/${of.version}`

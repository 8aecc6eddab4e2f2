// SPDX-License-Identifier: Apache-2.0
import { NOT_READY_TAINT, UNREACHABLE_TAINT } from '../../core/marks.js'
import { isMap, mapAt, mapsAt, textAt, type JsonMap, type KubeObject } from './object.js'

/** Gives out a cluster IP that no service has. */
export type Allocate = () => string

const NOT_READY = { key: NOT_READY_TAINT, effect: 'NoSchedule' }

const setDefault = (map: JsonMap, key: string, value: unknown): void => {
  if (map[key] === undefined) map[key] = value
}

/** Admission gives every new node the not-ready taint, whatever was posted. */
export const admitNode = (node: KubeObject): void => {
  const spec = mapAt(node, 'spec')
  const taints = mapsAt(spec, 'taints')
  const tainted = taints.some(
    taint => taint['key'] === NOT_READY.key && taint['effect'] === NOT_READY.effect,
  )
  node['spec'] = tainted ? spec : { ...spec, taints: [...taints, { ...NOT_READY }] }
}

export const admitNamespace = (namespace: KubeObject): void => {
  const { metadata } = namespace
  metadata.labels = { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name }
  namespace['spec'] = { ...mapAt(namespace, 'spec'), finalizers: ['kubernetes'] }
  namespace['status'] = { phase: 'Active' }
}

/** `stringData` is for writing only: it ends up in `data`, encoded. */
export const fillSecret = (secret: JsonMap): void => {
  setDefault(secret, 'type', 'Opaque')
  const { stringData } = secret
  if (!isMap(stringData)) return
  const encoded = Object.entries(stringData).map(([key, text]) => [
    key,
    Buffer.from(String(text)).toString('base64'),
  ])
  secret['data'] = { ...mapAt(secret, 'data'), ...Object.fromEntries(encoded) }
  delete secret['stringData']
}

export const fillService = (service: JsonMap): void => {
  const spec = mapAt(service, 'spec')
  service['spec'] = spec
  setDefault(spec, 'type', 'ClusterIP')
  setDefault(spec, 'sessionAffinity', 'None')
  setDefault(spec, 'internalTrafficPolicy', 'Cluster')
  for (const port of mapsAt(spec, 'ports')) {
    setDefault(port, 'protocol', 'TCP')
    setDefault(port, 'targetPort', port['port'])
  }
}

export const admitService = (service: KubeObject, allocate: Allocate): void => {
  const spec = mapAt(service, 'spec')
  if (spec['type'] === 'ExternalName') return
  const given = textAt(spec, 'clusterIP')
  const ip = given === '' ? allocate() : given
  spec['clusterIP'] = ip
  setDefault(spec, 'clusterIPs', [ip])
  setDefault(spec, 'ipFamilies', [ip.includes(':') ? 'IPv6' : 'IPv4'])
  setDefault(spec, 'ipFamilyPolicy', 'SingleStack')
  service['status'] = { loadBalancer: {} }
}

export const fillSlice = (slice: JsonMap): void => {
  const ports = mapsAt(slice, 'ports')
  const endpoints = mapsAt(slice, 'endpoints')
  slice['ports'] = ports.length === 0 ? null : ports
  slice['endpoints'] = endpoints.length === 0 ? null : endpoints
  for (const endpoint of endpoints) setDefault(endpoint, 'conditions', {})
  for (const port of mapsAt(slice, 'ports')) {
    setDefault(port, 'name', '')
    setDefault(port, 'protocol', 'TCP')
  }
}

export const fillPod = (pod: JsonMap): void => {
  const spec = mapAt(pod, 'spec')
  pod['spec'] = spec
  setDefault(spec, 'restartPolicy', 'Always')
  setDefault(spec, 'dnsPolicy', 'ClusterFirst')
  setDefault(spec, 'schedulerName', 'default-scheduler')
  setDefault(spec, 'terminationGracePeriodSeconds', 30)
  setDefault(spec, 'securityContext', {})
  for (const container of mapsAt(spec, 'containers')) {
    setDefault(container, 'resources', {})
    setDefault(container, 'imagePullPolicy', 'IfNotPresent')
  }
}

const toleration = (key: string): JsonMap => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 300,
})

const tolerates = (given: readonly JsonMap[], key: string): boolean =>
  given.some(
    one =>
      (one['key'] === undefined || one['key'] === key) &&
      (one['effect'] === undefined || one['effect'] === 'NoExecute'),
  )

/** As admission does: a pod stays five minutes on a node that is not ready or unreachable. */
export const admitPod = (pod: KubeObject): void => {
  const spec = mapAt(pod, 'spec')
  const given = mapsAt(spec, 'tolerations')
  const missing = [NOT_READY_TAINT, UNREACHABLE_TAINT].filter(key => !tolerates(given, key))
  spec['tolerations'] = [...given, ...missing.map(toleration)]
  pod['status'] = { phase: 'Pending', qosClass: 'BestEffort' }
}

export const fillWorkload = (workload: JsonMap): void => {
  const spec = mapAt(workload, 'spec')
  workload['spec'] = spec
  setDefault(spec, 'replicas', 1)
  setDefault(spec, 'revisionHistoryLimit', 10)
  const template = mapAt(spec, 'template')
  spec['template'] = template
  fillPod(template)
}

/** No controller looks whether the names are free: they are. */
export const admitDefinition = (definition: KubeObject): void => {
  const names = mapAt(mapAt(definition, 'spec'), 'names')
  setDefault(names, 'singular', textAt(names, 'kind').toLowerCase())
  setDefault(names, 'listKind', `${textAt(names, 'kind')}List`)
  const condition = (type: string): JsonMap => ({ type, status: 'True' })
  definition['status'] = {
    conditions: [condition('NamesAccepted'), condition('Established')],
    acceptedNames: { ...names },
    storedVersions: mapsAt(mapAt(definition, 'spec'), 'versions')
      .filter(version => version['storage'] === true)
      .map(version => textAt(version, 'name')),
  }
}

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { isMirrorPod, referencesOf } from '../../../../bridge/model/location/references.js'
import type { JsonMap } from '../../../../core/json.js'
import { pod } from '../objects.js'

/** `secret x`, or `secret x?` where the pod starts without it. */
const found = (spec: JsonMap): readonly string[] =>
  referencesOf(pod('web', spec))
    .map(({ type, name, isOptional }) => `${type} ${name}${isOptional ? '?' : ''}`)
    .sort()

t.test('everything that a pod refers to', t => {
  const rows: [claim: string, spec: JsonMap, references: readonly string[]][] = [
    ['nothing', {}, []],
    ['a ConfigMap as a volume', { volumes: [{ configMap: { name: 'a' } }] }, ['configmap a']],
    [
      'an optional one',
      { volumes: [{ configMap: { name: 'a', optional: true } }] },
      ['configmap a?'],
    ],
    ['a Secret as a volume', { volumes: [{ secret: { secretName: 'a' } }] }, ['secret a']],
    [
      'an optional one',
      { volumes: [{ secret: { secretName: 'a', optional: true } }] },
      ['secret a?'],
    ],
    [
      'projected',
      {
        volumes: [
          {
            projected: {
              sources: [
                { configMap: { name: 'a' } },
                { secret: { name: 'b', optional: true } },
                { serviceAccountToken: { path: 'token' } },
                { downwardAPI: {} },
              ],
            },
          },
        ],
      },
      ['configmap a', 'secret b?', 'serviceaccounttoken cashier'],
    ],
    [
      'a claim',
      { volumes: [{ persistentVolumeClaim: { claimName: 'a' } }] },
      ['persistentvolumeclaim a'],
    ],
    [
      'a claim that lives as long as the pod',
      { volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: {} } }] },
      ['persistentvolumeclaim web-scratch'],
    ],
    [
      'Secrets of volumes',
      {
        volumes: [
          { azureFile: { secretName: 'a' } },
          { cephfs: { secretRef: { name: 'b' } } },
          { csi: { nodePublishSecretRef: { name: 'c' } } },
          { flexVolume: { secretRef: { name: 'd' } } },
          { iscsi: { secretRef: { name: 'e' } } },
          { rbd: { secretRef: { name: 'f' } } },
        ],
      },
      ['secret a', 'secret b', 'secret c', 'secret d', 'secret e', 'secret f'],
    ],
    [
      'the environment of containers of all kinds',
      {
        containers: [
          {
            envFrom: [
              { configMapRef: { name: 'a' } },
              { secretRef: { name: 'b', optional: true } },
            ],
            env: [
              { name: 'X', value: 'y' },
              { name: 'Z', valueFrom: { fieldRef: {} } },
            ],
          },
        ],
        initContainers: [{ env: [{ valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }] }],
        ephemeralContainers: [
          { env: [{ valueFrom: { secretKeyRef: { name: 'd', key: 'k', optional: true } } }] },
        ],
      },
      ['configmap a', 'configmap c', 'secret b?', 'secret d?'],
    ],
    ['what pulls images', { imagePullSecrets: [{ name: 'a' }, {}] }, ['secret a']],
    [
      'one that must be there once must be there',
      {
        volumes: [{ configMap: { name: 'a', optional: true } }, { configMap: { name: 'a' } }],
        containers: [{ envFrom: [{ configMapRef: { name: 'a', optional: true } }] }],
      },
      ['configmap a'],
    ],
    [
      'what is no reference',
      {
        volumes: [
          7,
          { configMap: 'a' },
          { configMap: { name: '' } },
          { secret: { secretName: 3 } },
        ],
        containers: 'none',
        imagePullSecrets: null,
      },
      [],
    ],
  ]
  for (const [claim, spec, references] of rows) t.strictSame(found(spec), references, claim)
  t.strictSame(referencesOf({ metadata: { name: 'x', namespace: 'y' } }), [], 'no spec')
  t.end()
})

t.test('a mirror pod is allowed nothing', t => {
  const annotations = { 'kubernetes.io/config.mirror': 'abc' }
  const mirror = pod('web', { imagePullSecrets: [{ name: 'a' }] }, { metadata: { annotations } })
  t.strictSame(referencesOf(mirror), [])
  t.equal(isMirrorPod(mirror), true)
  t.equal(isMirrorPod(pod('web')), false)
  t.end()
})

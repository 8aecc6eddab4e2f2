// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { deleteExactly } from '../../controller/ownership.js'
import { KubeStatusError, KubeUnreachableError } from '../../core/errors.js'
import { controllerOf, ownerReference, type OwnerReference } from '../../core/owner.js'

const owner = { apiVersion: 'superedge.io/v1', kind: 'ServiceGrid', name: 'web', uid: 'u1' }

t.test('the controller is the owner reference with controller: true', async t => {
  const reference = ownerReference({ ...owner, extra: 1 } as typeof owner)
  t.strictSame(reference, { ...owner, controller: true, blockOwnerDeletion: true })
  const other: OwnerReference = { ...owner, uid: 'u0' }
  t.strictSame(controllerOf([other, reference]), reference)
  t.equal(controllerOf([other, { ...other, controller: false }]), undefined)
})

t.test('a delete applies only to the state that was decided about', async t => {
  const services = { group: '', version: 'v1', resource: 'services' }
  const exact = { namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '7' }
  const guard = (): undefined => undefined
  const asked: unknown[] = []
  const signal = new AbortController().signal
  const play = (error?: Error) => {
    const client = {
      delete: async (...args: readonly unknown[]): Promise<void> => {
        asked.push(args)
        if (error !== undefined) throw error
      },
    }
    return deleteExactly(client, services, { ...exact, guard }, signal)
  }
  const refusal = (status: number): Error =>
    new KubeStatusError('DELETE', { status, reason: '', message: '' })
  t.equal(await play(), 'deleted')
  const options = { uid: 'u', resourceVersion: '7', guard, propagation: 'Background' }
  t.strictSame(asked, [[services, { namespace: 'shop', name: 'web' }, options, signal]])
  t.equal(await play(refusal(404)), 'gone')
  t.equal(await play(refusal(409)), 'changed')
  await t.rejects(play(refusal(403)), refusal(403))
  await t.rejects(play(new KubeUnreachableError('DELETE', 'no')), { code: 'KUBE_UNREACHABLE' })
})

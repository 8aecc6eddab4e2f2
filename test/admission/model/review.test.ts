// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { unchanged } from '../../../admission/model/decision.js'
import { answerReview, parseReview } from '../../../admission/model/review.js'
import { makeNode, makeReview } from '../../../testkit/admission/reviews.js'

const good = makeReview('/node-taint', makeNode())
const withRequest = (more: object): object => ({
  ...good,
  request: { ...(good['request'] as object), ...more },
})

t.test('a review says which write, by whom, of what', t => {
  t.match(parseReview(good), {
    ...{ apiVersion: 'admission.k8s.io/v1', uid: '705ab4f5-6393-11e8-b7cc-42010a800002' },
    ...{ operation: 'UPDATE', resource: 'nodes', version: 'v1', namespace: '' },
    username: 'system:serviceaccount:kube-system:node-controller',
  })
  const slice = makeReview('/endpointslice', {})
  t.equal(parseReview(slice).resource, 'endpointslices.discovery.k8s.io')
  t.equal(parseReview(makeReview('/pod-status', {})).resource, 'pods/status')
  const made = parseReview(withRequest({ oldObject: null, object: undefined }))
  t.match(made, { object: undefined, oldObject: undefined })
  t.end()
})

t.test('what is none is refused, with the part, the rule and the value', t => {
  const rows: [raw: unknown, says: RegExp][] = [
    [undefined, /kind must be "AdmissionReview", got nothing/],
    ['text', /kind must be/],
    [[good], /kind must be/],
    [{ ...good, kind: 'Pod' }, /kind must be "AdmissionReview", got "Pod"/],
    [{ ...good, apiVersion: 'v1' }, /apiVersion must be one of .*v1beta1, got "v1"/],
    [{ ...good, request: undefined }, /request must be an object, got nothing/],
    [{ ...good, request: [] }, /request must be an object/],
    [withRequest({ uid: '' }), /request.uid must be a text of 1 to 128 characters, got ""/],
    [withRequest({ uid: 7 }), /request.uid/],
    [withRequest({ uid: 'x'.repeat(129) }), /request.uid/],
    [withRequest({ object: 'a text' }), /request.object must be an object, got "a text"/],
    [withRequest({ oldObject: [] }), /request.oldObject must be an object/],
  ]
  for (const [raw, message] of rows)
    t.throws(() => parseReview(raw), { code: 'INVALID_INPUT', message })
  t.end()
})

t.test('the answer has the version and the uid of the review, and nothing of its request', t => {
  for (const apiVersion of ['admission.k8s.io/v1', 'admission.k8s.io/v1beta1'] as const) {
    const review = parseReview({ ...good, apiVersion })
    const { uid } = review
    const answers = (response: object) => ({ apiVersion, kind: 'AdmissionReview', response })
    t.strictSame(answerReview(review, unchanged('heard')), answers({ uid, allowed: true }))
    t.strictSame(
      answerReview(review, { kind: 'refused', message: 'later' }),
      answers({
        ...{ uid, allowed: false },
        status: { code: 403, reason: 'Forbidden', message: 'later' },
      }),
    )
    const patch = [
      { op: 'test', path: '/spec/taints', value: ['ä'] },
      { op: 'replace', path: '/spec/taints', value: [] },
    ] as const
    const base64 = Buffer.from(JSON.stringify(patch)).toString('base64')
    t.strictSame(
      answerReview(review, { kind: 'changed', patch }),
      answers({ uid, allowed: true, patchType: 'JSONPatch', patch: base64 }),
    )
  }
  t.end()
})

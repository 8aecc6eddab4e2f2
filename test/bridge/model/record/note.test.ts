// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { Held } from '../../../../bridge/model/record/held.js'
import { noteRemoved, noteSending, noteStored } from '../../../../bridge/model/record/note.js'

const held = (name: string, more: Partial<Held> = {}): Held => ({
  ...{ type: 'pod', namespace: 'till', name, version: '5', print: 'p' },
  ...more,
})
const unsure = { version: '0', print: '' }

t.test('objects that an edge may have, has, and no longer has', t => {
  const record = new Map<string, Held>()
  noteSending(record, 'u1', held('web'))
  t.strictSame(record.get('u1'), held('web', unsure), 'sent: it may be there')
  noteStored(record, 'u1', held('web'))
  t.strictSame(record.get('u1'), held('web'))
  noteStored(record, 'u2', held('web', { type: 'configmap' }))
  noteStored(record, 'u3', held('web', { namespace: 'other' }))
  t.strictSame(noteRemoved(record, 'u1', held('web')), [], 'others have another place')
  t.strictSame([...record.keys()], ['u2', 'u3'])
  t.end()
})

t.test('an edge that removes by name also removes the new object of that name', t => {
  const record = new Map([['u2', held('web')]])
  t.strictSame(noteRemoved(record, 'u1', held('web')), ['u2'], 'whether or not the other was known')
  t.strictSame(record.get('u2'), held('web', unsure))
  t.end()
})

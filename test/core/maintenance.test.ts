// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { maintenanceOf, maintenanceTrouble, parseInstant } from '../../core/maintenance.js'
import { MAINTENANCE_ANNOTATION } from '../../core/marks.js'

const NOW = Date.parse('2026-01-01T10:00:00Z')
const until = (text: string) => ({ annotations: { [MAINTENANCE_ANNOTATION]: text } })

t.test('who works on a node says so by annotation or by cordon', t => {
  const rows: [text: string, by: string | undefined, until: string | null | undefined][] = [
    ['2026-01-01T10:00:01Z', 'annotation', '2026-01-01T10:00:01.000Z'],
    ['2026-01-01t12:00:00.5+01:00', 'annotation', '2026-01-01T11:00:00.500Z'],
    ['2026-01-01T10:00:00Z', undefined, undefined],
    ['2026-02-01T10:00:00Z', 'annotation', '2026-02-01T10:00:00.000Z'],
    ['2026-02-01T10:00:01Z', undefined, undefined],
    ['9999-12-31T23:59:59Z', undefined, undefined],
    ['2026-01-01', undefined, undefined],
    ['tomorrow', undefined, undefined],
    ['2026-13-01T10:00:01Z', undefined, undefined],
  ]
  for (const [text, by, end] of rows) {
    const found = maintenanceOf(until(text), NOW)
    t.strictSame([found?.by, found?.until], [by, end], text)
  }
  t.strictSame(maintenanceOf({ annotations: {}, isCordoned: true }, NOW), {
    by: 'cordoned',
    until: null,
  })
  t.equal(maintenanceOf({ annotations: {} }, NOW), undefined)
  t.match(
    maintenanceOf({ ...until('2026-01-20T00:00:00Z'), isCordoned: true }, NOW),
    { by: 'annotation' },
    'the later of two is not asked for: the annotation has an end',
  )
  t.end()
})

t.test('an annotation that is no time, or one far ahead, says why it is not used', t => {
  t.equal(maintenanceTrouble({ annotations: {} }, NOW), undefined)
  t.equal(maintenanceTrouble(until('2020-01-01T00:00:00Z'), NOW), undefined, 'past is no trouble')
  t.equal(maintenanceTrouble(until('2026-02-01T10:00:00Z'), NOW), undefined)
  t.match(
    maintenanceTrouble(until('tomorrow'), NOW),
    /must be an RFC 3339 time such as .*got "tomorrow"/,
  )
  t.match(
    maintenanceTrouble(until('2062-01-01T10:00:00Z'), NOW),
    /must lie at most 31 days ahead, got "2062/,
  )
  t.equal(parseInstant('2026-01-01 10:00:00Z'), undefined)
  t.end()
})

// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { parsePath } from '../../../wrapper/serve/target.js'

t.test('slashes at the end of a path name nothing', t => {
  const plain = parsePath('/api/v1/namespaces/shop/services/web')
  t.match(plain, { namespace: 'shop', resource: 'services', name: 'web' })
  for (const end of ['/', '///', '/'.repeat(70_000)])
    t.strictSame(parsePath(`/api/v1/namespaces/shop/services/web${end}`), plain)
  t.equal(parsePath('/'.repeat(70_000)), undefined)
  t.equal(parsePath(''), undefined)
  t.end()
})

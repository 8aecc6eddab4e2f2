// SPDX-License-Identifier: Apache-2.0
import { readLabels, withVersion } from '../wire/meta.js'
import { readService } from '../wire/service.js'
import type { Row } from './resources.js'

/**
 * Check that the store can use an object: it can read the fields that it needs later, and set a version. Endpoints
 * that cannot be read are served unchanged. One broken object must not cost the others of its list.
 * @throws WireError
 */
export const checkReadable = ({ resource }: Row, raw: Uint8Array): void => {
  withVersion(raw, '0')
  if (resource === 'nodes') readLabels(raw)
  else if (resource === 'services') readService(raw)
}

// SPDX-License-Identifier: Apache-2.0
import { withVersion } from '../wire/meta.js'
import { readNode } from '../wire/node.js'
import { readService } from '../wire/service.js'
import type { Row } from './resources.js'

/**
 * Whether the store can use an object: what it reads of it later it can read, and it can be given a version.
 * Endpoints that cannot be read are served as they are. One broken object must not cost the others of its list.
 * @throws WireError
 */
export const checkReadable = ({ resource }: Row, raw: Uint8Array): void => {
  withVersion(raw, '0')
  if (resource === 'nodes') readNode(raw)
  else if (resource === 'services') readService(raw)
}

// SPDX-License-Identifier: Apache-2.0
import { EdgeHealthError } from '../../core/errors.js'

/** Bytes, or JSON, that are no Kubernetes message: says what was read and which rule broke, and quotes nothing of it. */
export class WireError extends EdgeHealthError {
  constructor(thing: string, rule: string) {
    super('MALFORMED_WIRE', `${thing} ${rule}`)
  }
}

// SPDX-License-Identifier: Apache-2.0
import { EdgeHealthError } from '../../core/errors.js'

/** Bytes or JSON that are not a valid Kubernetes message: names what was read and the broken rule, and quotes nothing. */
export class WireError extends EdgeHealthError {
  constructor(thing: string, rule: string) {
    super('MALFORMED_WIRE', `${thing} ${rule}`)
  }
}

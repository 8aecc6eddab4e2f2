// SPDX-License-Identifier: Apache-2.0
import { textAt, type KubeObject } from './object.js'

/** The first free address of 10.96.0.0/16; .0.1 belongs to the API itself. */
export const clusterIps = (services: readonly KubeObject[]): string => {
  const taken = new Set(services.map(service => textAt(service, 'spec.clusterIP')))
  for (let n = 2; n < 65_535; n++) {
    const address = `10.96.${n >> 8}.${n & 255}`
    if (!taken.has(address)) return address
  }
  return 'None'
}

// SPDX-License-Identifier: Apache-2.0
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { ResourceName } from '../../kube/client/resource.js'

/** One write of the controller. */
export interface SeenWrite {
  readonly verb: 'create' | 'patch' | 'apply' | 'delete'
  /** `deployments web-north`, `deploymentgrids/status web`. */
  readonly what: string
  readonly isDryRun: boolean
}

/** A client that remembers what was written through it. */
export const recorded = (client: ResourceClient, writes: SeenWrite[]): ResourceClient => {
  const note = (
    verb: SeenWrite['verb'],
    { resource, subresource }: ResourceName & { readonly subresource?: string },
    name: string,
    isDryRun = false,
  ): void => {
    const what = subresource === undefined ? resource : `${resource}/${subresource}`
    writes.push({ verb, what: `${what} ${name}`, isDryRun })
  }
  return {
    get: (...all) => client.get(...all),
    list: (...all) => client.list(...all),
    watch: (...all) => client.watch(...all),
    update: (...all) => client.update(...all),
    ping: signal => client.ping(signal),
    reconnect: () => client.reconnect(),
    serverTime: () => client.serverTime(),
    storeTrouble: () => client.storeTrouble(),
    close: () => client.close(),
    create: (type, where, write, signal) => {
      note('create', type, '')
      return client.create(type, where, write, signal)
    },
    patch: (type, of, write, signal) => {
      note('patch', type, of.name, write.isDryRun)
      return client.patch(type, of, write, signal)
    },
    apply: (type, of, write, signal) => {
      note('apply', type, of.name, write.isDryRun)
      return client.apply(type, of, write, signal)
    },
    delete: (type, of, options, signal) => {
      note('delete', type, of.name)
      return client.delete(type, of, options, signal)
    },
  }
}

// SPDX-License-Identifier: Apache-2.0
import type { Test } from 'tap'
import type { ApiOptions } from '../../sandbox/api/server.js'
import { testApi } from './api-client.js'
import { clientOf, never } from './raw-objects.js'
import { installCrds } from './grid-crds.js'

const NAMESPACES = { group: '', version: 'v1', resource: 'namespaces', parse: () => undefined }

/** The embedded API with the CRDs of grids and a user who may do everything, until the test ends. */
export const startGridApi = async (
  t: Pick<Test, 'teardown'>,
  options: Partial<ApiOptions> = {},
) => {
  const { api, token } = await testApi(options)
  const server = { url: api.url, token }
  const admin = clientOf(server, 'kubectl')
  t.teardown(async () => {
    await admin.close()
    await api.stop()
  })
  await installCrds(admin)
  /** Where the controller's Lease is. */
  const createSystemNamespace = async (): Promise<void> => {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'edge-system' } }
    await admin.create(NAMESPACES, {}, { body }, never)
  }
  return { api, server, admin, createSystemNamespace }
}

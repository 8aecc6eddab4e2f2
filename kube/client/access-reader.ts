// SPDX-License-Identifier: Apache-2.0
import { existsSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { CredentialsError } from '../../core/errors.js'
import {
  anonymousAccess,
  kubeconfigAccess,
  parseServer,
  serviceAccountAccess,
  type Access,
  type KubeconfigFile,
} from './access.js'
import { readCredentialFile } from './file-reader.js'

/** Where credentials come from. */
export interface AccessSource {
  /** Path of a kubeconfig, or paths of several that are taken as one; undefined or empty: the Pod's own service account. */
  readonly kubeconfig?: string | readonly string[] | undefined
  /** Which context of the kubeconfig. @default its current one */
  readonly context?: string | undefined
  /** Address of the apiserver, in place of the one that the kubeconfig or the Pod's environment names. */
  readonly masterUrl?: string | undefined
  /** The process environment: KUBERNETES_SERVICE_HOST and _PORT are read; exec plugins inherit all of it. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /**
   * Called with the server of a kubeconfig that has changed since it was first read. False: the last good one stays in use.
   * @default all may be used
   */
  readonly mayUse?: ((server: URL) => boolean) | undefined
  /** @default '/var/run/secrets/kubernetes.io/serviceaccount' */
  readonly serviceAccountFolder?: string
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

const inClusterServer = (environment: AccessSource['environment']): URL => {
  const host = environment['KUBERNETES_SERVICE_HOST'] ?? ''
  const port = environment['KUBERNETES_SERVICE_PORT'] ?? '443'
  if (host === '')
    throw new CredentialsError(
      'no kubeconfig given and not inside a Pod: KUBERNETES_SERVICE_HOST is not set',
    )
  return parseServer('environment', `https://${isIPv6(host) ? `[${host}]` : host}:${port}`)
}

/** Of several files those that exist, as kubectl does; a single one must exist. */
const readKubeconfigs = async (paths: readonly string[]): Promise<readonly KubeconfigFile[]> => {
  const there = paths.filter(path => existsSync(path))
  const wanted = there.length === 0 ? paths.slice(0, 1) : there
  return Promise.all(
    wanted.map(async path => ({ path, text: await readCredentialFile('kubeconfig', path) })),
  )
}

/**
 * Returns a function that reads the source: a kubeconfig is read each time, and parsed when its text has changed; the other
 * sources do not change.
 * @throws CredentialsError when the options name no source, or the master URL is not an address
 */
export const accessReader = (options: AccessSource): (() => Promise<Access>) => {
  const { kubeconfig = '', masterUrl = '', context, mayUse = () => true } = options
  const master = masterUrl === '' ? undefined : parseServer('master URL', masterUrl)
  const paths = [kubeconfig].flat().filter(path => path !== '')
  if (paths.length > 0) {
    let last: { readonly text: string; readonly access: Access } | undefined
    return async () => {
      const files = await readKubeconfigs(paths)
      const text = JSON.stringify(files)
      if (last?.text === text) return last.access
      const found = await kubeconfigAccess(files, context)
      const access = master === undefined ? found : { ...found, server: master }
      last = { text, access: last === undefined || mayUse(access.server) ? access : last.access }
      return last.access
    }
  }
  const folder = options.serviceAccountFolder ?? SERVICE_ACCOUNT
  const access =
    master !== undefined && !existsSync(join(folder, 'token'))
      ? anonymousAccess(master)
      : serviceAccountAccess(folder, master ?? inClusterServer(options.environment))
  return () => Promise.resolve(access)
}

// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'

/** What an object was when it was looked at: `DaemonSet/edge-health-agent` → uid and version. */
export type Seen = Readonly<Record<string, string>>

interface Listed {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
  }
}

const NAMESPACES = ['edge-system', 'kube-node-lease', 'default', 'kube-system']

/** Objects that were applied together: with kubectl, from a file or a kustomization. */
export class Installed {
  /** As kubectl takes it: `-f FILE` or `-k FOLDER`. */
  readonly source: readonly [flag: '-f' | '-k', path: string]
  readonly #plane: ControlPlane
  readonly #account: string

  /** @param account the ServiceAccount that its agent runs as, in edge-system */
  constructor(plane: ControlPlane, source: Installed['source'], account: string) {
    this.#plane = plane
    this.source = source
    this.#account = `system:serviceaccount:edge-system:${account}`
  }

  async apply(): Promise<void> {
    await this.#plane.kubectl(['apply', ...this.source])
  }

  async delete(): Promise<void> {
    await this.#plane.kubectl(['delete', ...this.source])
  }

  /** Rejects when one is missing. */
  async look(): Promise<Seen> {
    const text = await this.#plane.kubectl(['get', ...this.source, '-o', 'json'])
    const { items } = JSON.parse(text) as { items: readonly Listed[] }
    return Object.fromEntries(
      items.map(({ kind, metadata: { namespace = '', name, uid, resourceVersion } }) => [
        [kind, namespace, name].join('/'),
        `${uid} ${resourceVersion}`,
      ]),
    )
  }

  /** Names of those that are there. */
  async left(): Promise<readonly string[]> {
    const text = await this.#plane.kubectl([
      ...['get', ...this.source, '--ignore-not-found', '-o', 'name'],
    ])
    return text.split('\n').filter(line => line !== '')
  }

  /** All that its account may do, by namespace. */
  async rights(): Promise<Readonly<Record<string, readonly string[]>>> {
    const list = async (namespace: string) => {
      const args = ['-n', namespace, 'auth', 'can-i', '--list', `--as=${this.#account}`]
      const text = await this.#plane.kubectl(args)
      return [namespace, text.trimEnd().split('\n').sort()] as const
    }
    return Object.fromEntries(await Promise.all(NAMESPACES.map(list)))
  }

  /** Whether its account may do this; `part` is a subresource. */
  async may(verb: string, resource: string, part = ''): Promise<boolean> {
    const args = ['auth', 'can-i', verb, resource, `--subresource=${part}`, `--as=${this.#account}`]
    // kubectl answers no with exit code 1, and says so.
    const text = await this.#plane.kubectl(args).catch((error: unknown) => String(error))
    return text.startsWith('yes')
  }
}

/** Write a kustomization of the base with these components, as an operator's own. @returns its folder, in `dir` */
export const writeKustomization = (
  dir: string,
  components: readonly string[],
  name = components.join('-') || 'base',
): string => {
  const folder = join(dir, name)
  mkdirSync(folder, { recursive: true })
  const path = (name: string): string => relative(folder, join(process.cwd(), 'deploy', name))
  const text = JSON.stringify({
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [path('base')],
    components: components.map(name => path(`components/${name}`)),
  })
  writeFileSync(join(folder, 'kustomization.yaml'), text)
  return folder
}

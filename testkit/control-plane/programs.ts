// SPDX-License-Identifier: Apache-2.0
// The programs that the lab takes from Kubernetes, and the versions that it can build.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Program → the package that it is built from. */
export const PACKAGES = {
  etcd: 'go.etcd.io/etcd/server/v3',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-proxy': 'k8s.io/kubernetes/cmd/kube-proxy',
} as const

export type Program = keyof typeof PACKAGES

/** Where each program is, if it is there at all. */
export type Binaries = Readonly<Record<Program, string>>

export const programs = Object.keys(PACKAGES) as readonly Program[]

/** What an API alone needs, and a control plane. Nothing is built for a run that does not use it. */
export const API: readonly Program[] = ['etcd', 'kubectl', 'kube-apiserver']
export const CONTROL_PLANE: readonly Program[] = [...API, 'kube-controller-manager']

/** The programs' paths in a folder. */
export const binariesIn = (folder: string): Binaries =>
  Object.fromEntries(programs.map(name => [name, join(folder, name)])) as unknown as Binaries

/** A version of Kubernetes that the repository pins. */
export interface Pinned {
  /** `1.36` */
  readonly minor: string
  /** `v1.36.3` */
  readonly version: string
  /** The folder with go.mod and go.sum. */
  readonly source: string
  readonly goMod: string
}

const readPin = (folder: string, minor: string): Pinned => {
  const source = join(folder, minor)
  const goMod = readFileSync(join(source, 'go.mod'), 'utf8')
  const version = /k8s\.io\/kubernetes (v[\d.]+)/.exec(goMod)?.[1]
  if (version === undefined) throw new Error(`${source}/go.mod does not pin k8s.io/kubernetes`)
  return { minor, version, source, goMod }
}

/** All of them, the newest first. */
export const pinnedVersions = (folder: string): readonly Pinned[] =>
  readdirSync(folder)
    .filter(name => /^\d+\.\d+$/.test(name))
    .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    .map(minor => readPin(folder, minor))

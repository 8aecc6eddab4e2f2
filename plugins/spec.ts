// SPDX-License-Identifier: Apache-2.0

/** One check plugin as the operator asked for it, parsed and checked; what `registry.ts` builds a plugin from. */
export interface PluginSpec {
  /** Registry name: `ping`, `kubelet`, `kubeletauth`, `http`, `selfreport`. */
  readonly name: string
  /** Share of the score in millionths: 1_000_000 is the weight 1. */
  readonly weight: number
  /** Port that is probed; not used by `http` and `selfreport`. */
  readonly port: number
  /** `http` only: URL with `{address}` (brackets added for IPv6) and `{name}`. */
  readonly url?: string
  /**
   * TLS: path of a PEM bundle; `'insecure'` does not verify. Undefined trusts the system's authorities; for
   * `kubeletauth` without a token it does not verify, since nothing secret is sent.
   */
  readonly ca?: string
  /** `kubeletauth` only: path of a bearer token to send. Undefined sends none. */
  readonly tokenFile?: string
  /** Keys of SuperEdge that were given and that the ladder of attempts replaces, for a line in the log. */
  readonly replaced?: readonly string[]
}

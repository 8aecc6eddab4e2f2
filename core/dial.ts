// SPDX-License-Identifier: Apache-2.0

/** The network as a check plugin sees it: a TCP connection that is opened and closed at once. */
export interface Dial {
  /** Resolves when the peer has accepted; no socket stays open. Rejects with the system's error, or the signal's reason. */
  connect(host: string, port: number, signal: AbortSignal): Promise<void>
}

/** A GET, as far as a check plugin needs it. */
export interface HttpRequest {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** TLS: PEM bundle to trust; `'insecure'` does not verify; undefined trusts the system's authorities. */
  readonly ca?: string | undefined
  /** Use a kept connection where there is one. */
  readonly reuse: boolean
  readonly signal: AbortSignal
}

/** Fetches headers only: resolves with the status as soon as it is known, follows no redirect, reads at most 64 KiB. */
export interface HttpGet {
  /** Rejects with the system's error (`code` of Node.js), or with the signal's reason. */
  get(request: HttpRequest): Promise<{ readonly status: number }>
  close(): void
}

// SPDX-License-Identifier: Apache-2.0

/** What the listener shows, as PEM texts. */
export interface Served {
  readonly cert: string
  readonly key: string
}

/** How the certificates stand, for operators. */
export interface CertificateStatus {
  /** End of what is served, epoch ms; null before there is any. */
  readonly validUntil: number | null
  /** Whether the apiserver was told to trust it. */
  readonly isTrusted: boolean
  /** How often another one was served. */
  readonly renewals: number
  /** Why the last turn failed; null since its last success. */
  readonly trouble: string | null
}

/** Where the listener's certificate comes from. */
export interface CertificateSource {
  readonly status: CertificateStatus
  /** Looks after it until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>
}

// SPDX-License-Identifier: Apache-2.0

/** The listener's certificate, as PEM. */
export interface Served {
  readonly cert: string
  readonly key: string
}

/** For status and metrics. */
export interface CertificateStatus {
  /** End of validity of the certificate in use, epoch ms; null when there is none. */
  readonly validUntil: number | null
  /** Whether its authority is in the webhook configurations. */
  readonly isTrusted: boolean
  /** How many times a new certificate came into use. */
  readonly renewals: number
  /** Why the last step failed; null since the last success. */
  readonly trouble: string | null
}

/** Provides the listener's certificate. */
export interface CertificateSource {
  readonly status: CertificateStatus
  /** Maintain the certificate until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>
}

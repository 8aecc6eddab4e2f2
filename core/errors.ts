// SPDX-License-Identifier: Apache-2.0

/** What went wrong, for programs. Each code has exactly one class. */
export type ErrorCode =
  | 'INVALID_INPUT'
  | 'PEER_UNREACHABLE'
  | 'TIMEOUT'
  | 'KUBE_STATUS'
  | 'KUBE_UNREACHABLE'
  | 'CREDENTIALS'
  | 'WITHHELD'
  | 'LISTEN'
  | 'MALFORMED_WIRE'
  | 'OVER_BUDGET'

/** The root of all errors that this project throws on purpose. The code decides; the message is for people. */
export class EdgeHealthError extends Error {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}

const MAX_SHOWN = 80

/** For values that JSON cannot express (undefined) or refuses (bigint, circles). */
const jsonOf = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

/** Render a value for an error message: JSON, cut short, never longer than one line. Never throws. */
export const show = (value: unknown): string => {
  const text = jsonOf(value) ?? String(value)
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

/** Something from outside broke a rule: names the thing, the rule and the value; undefined is shown as nothing. */
export class InvalidInputError extends EdgeHealthError {
  readonly thing: string
  readonly rule: string
  readonly value: unknown
  constructor(thing: string, rule: string, value: unknown, options?: ErrorOptions) {
    super(
      'INVALID_INPUT',
      `${thing} ${rule}, got ${value === undefined ? 'nothing' : show(value)}`,
      options,
    )
    this.thing = thing
    this.rule = rule
    this.value = value
  }
}

/** An operation outlived its limit. */
export class TimeoutError extends EdgeHealthError {
  readonly ms: number
  constructor(ms: number) {
    super('TIMEOUT', `no answer within ${ms} ms`)
    this.ms = ms
  }
}

/** A peer's agent did not answer; `cause` says how the connection ended. */
export class PeerUnreachableError extends EdgeHealthError {
  readonly peer: string
  constructor(peer: string, reason: string, options?: ErrorOptions) {
    super('PEER_UNREACHABLE', `peer ${peer} unreachable: ${reason}`, options)
    this.peer = peer
  }
}

/** A reason why a field was refused. */
export interface StatusCause {
  /** `FieldValueInvalid`, `FieldManagerConflict`, … */
  readonly reason: string
  readonly message: string
  /** A path such as `spec.taints[0].effect`. */
  readonly field?: string
}

/** What a `Status` may contain besides its message: which object it is about, and why. */
export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly StatusCause[]
  readonly retryAfterSeconds?: number
}

/** The parts of a Kubernetes `Status` that decide what to do next. */
export interface KubeStatus {
  readonly status: number
  readonly reason: string
  readonly message: string
  readonly details?: StatusDetails | undefined
  readonly retryAfterMs?: number | undefined
  /** True for a `Status` of the API, or its 429; false for a page of a proxy, a portal or another program on the port. @default false */
  readonly isFromApi?: boolean | undefined
}

/** The apiserver answered with an error `Status`. */
export class KubeStatusError extends EdgeHealthError {
  readonly status: number
  /** `reason` of the Status: `Conflict`, `Expired`, `Forbidden`, … or empty. */
  readonly reason: string
  /** The server's own message. */
  readonly said: string
  readonly details: StatusDetails | undefined
  /** How long the server asked us to wait, from `Retry-After`, at most 300 000 ms; undefined when it did not. */
  readonly retryAfterMs: number | undefined
  /** False: something in between answered, or an apiserver that is still starting. */
  readonly isFromApi: boolean
  constructor(request: string, answer: KubeStatus) {
    const { status, reason, message } = answer
    super('KUBE_STATUS', `${request}: ${status} ${reason}${message === '' ? '' : `: ${message}`}`)
    this.status = status
    this.reason = reason
    this.said = message
    this.details = answer.details
    this.retryAfterMs = answer.retryAfterMs
    this.isFromApi = answer.isFromApi === true
  }
}

/** The API itself says that there is no such object. A proxy without a backend answers 404 to every request; that does not count. */
export const isNotFound = (error: unknown): boolean =>
  error instanceof KubeStatusError && error.status === 404 && error.reason === 'NotFound'

/**
 * The apiserver itself answered, and refuses. An answer without a `Status` may be the page of a portal or a proxy on the
 * way, a redirect always is, and a server that answers 5xx does not serve.
 */
export const isAnsweredByApi = (error: unknown): error is KubeStatusError =>
  error instanceof KubeStatusError && error.isFromApi && error.status >= 400 && error.status < 500

/**
 * As `isAnsweredByApi`, for requests that no apiserver takes for malformed: OpenYurt's cache on a node answers 400 in the
 * cloud's place for what it has not stored.
 */
export const isAnsweredByCloud = (error: unknown): error is KubeStatusError =>
  isAnsweredByApi(error) && error.status !== 400

/** The apiserver refuses this by RBAC or a policy (403), or by its own rules (422). */
export const isRefusal = (error: unknown): boolean =>
  error instanceof KubeStatusError && (error.status === 403 || error.status === 422)

/** The apiserver could not be reached, or the connection broke; `cause` says how. */
export class KubeUnreachableError extends EdgeHealthError {
  constructor(request: string, reason: string, options?: ErrorOptions) {
    super('KUBE_UNREACHABLE', `${request}: ${reason}`, options)
  }
}

/** A request was withheld at the last moment, since the reason for it was gone; nothing of it was sent. */
export class WithheldError extends EdgeHealthError {
  constructor(request: string, reason: string) {
    super('WITHHELD', `${request}: not sent, ${reason}`)
  }
}

/** No usable credentials: kubeconfig, token or certificate missing or broken. */
export class CredentialsError extends EdgeHealthError {
  constructor(message: string, options?: ErrorOptions) {
    super('CREDENTIALS', message, options)
  }
}

/** A listener could not be opened, and waiting would not help. */
export class ListenError extends EdgeHealthError {
  readonly address: string
  constructor(address: string, reason: string, options?: ErrorOptions) {
    super('LISTEN', `cannot listen on ${address}: ${reason}`, options)
    this.address = address
  }
}

/** One line for a log or a person about an unknown failure, with its causes. */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return show(error)
  const own = error.message === '' ? error.name : error.message
  const { cause } = error
  if (cause === undefined || (cause instanceof Error && own.includes(cause.message))) return own
  return `${own} (${reasonOf(cause)})`
}
